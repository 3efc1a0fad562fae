import { describe, expect, test } from 'vitest'
import { contributionJson, createCollaborationTroupe } from '../../../test/support/collaboration.ts'

const torn = { a: contributionJson('Go', 0.9), b: contributionJson('wait', 0.8), coordinator: 'So be it.' }
const input = { task: 'Ship it?', agents: [{ name: 'a' }, { name: 'b' }], on_conflict: 'escalate', synthesis: 'vote' }

async function answered(answer: unknown) {
  const { troupe } = await createCollaborationTroupe(torn)
  const asked = await troupe.run('collaborate', input)
  return (await troupe.answer(asked.gates[0]?.gate_id ?? '', answer)).result
}

describe('what a person answers', () => {
  test('CO86 a number chooses, however it is written; a position in other spelling is that position; words decide', async () => {
    for (const [said, decision] of [
      ['2', 'wait'],
      [2, 'wait'],
      ['2.', 'wait'],
      ['option 2', 'wait'],
      ['(1)', 'Go'],
      ['WAIT!', 'wait'],
      ['go', 'Go'],
      [' wait until Monday ', 'wait until Monday'],
    ] as const) {
      const { output } = await answered(said)
      expect([said, (output as { ruling: { decision: string } }).ruling.decision]).toEqual([said, decision])
    }
  })

  test('CO86 what is empty, no words, or a number that stands for nothing is asked for again', async () => {
    for (const said of ['', '  ', '?!', '7', 0, null, { x: 1 }, true]) {
      const { status, gates } = await answered(said)
      expect([said, status]).toEqual([said, 'waiting'])
      expect(gates).toHaveLength(1)
      expect(gates[0]?.question).toMatch(/is no answer: there are 2 positions\.\n.*Ship it\?\n1\. Go \(a; 53 %\)/)
    }
  })

  test('CO86 it is asked as often as that takes', async () => {
    const { troupe } = await createCollaborationTroupe(torn)
    let run = await troupe.run('collaborate', input)
    for (const said of ['9', '', 'option 3']) {
      run = await (await troupe.answer(run.gates[0]?.gate_id ?? '', said)).result
      expect(run.status).toBe('waiting')
    }
    run = await (await troupe.answer(run.gates[0]?.gate_id ?? '', '1')).result
    expect(run.output).toMatchObject({ ruling: { by: 'person', decision: 'Go' } })
  })
})
