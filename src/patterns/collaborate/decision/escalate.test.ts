import { describe, expect, test } from 'vitest'
import { contributionJson, createCollaborationTroupe } from '../../../../test/support/collaboration.ts'
import type { RunResult } from '../../../index.ts'

const conflicting = { a: contributionJson('Go', 0.9), b: contributionJson('wait', 0.8), coordinator: 'Final answer.' }
const input = { task: 'Ship it?', agents: [{ name: 'a' }, { name: 'b' }], on_conflict: 'escalate', synthesis: 'vote' }

async function answerEscalation(answer: unknown) {
  const { troupe } = await createCollaborationTroupe(conflicting)
  const waiting = await troupe.run('collaborate' as string, input)
  return (await troupe.answer(waiting.gates[0]?.gate_id ?? '', answer)).result
}

describe('answers to an escalation', () => {
  test('CO86 a number or the text of a position chooses it; other text decides as it is', async () => {
    for (const [answer, decision] of [
      ['2', 'wait'],
      [2, 'wait'],
      ['2.', 'wait'],
      ['option 2', 'wait'],
      ['(1)', 'Go'],
      ['WAIT!', 'wait'],
      ['go', 'Go'],
      [' wait until Monday ', 'wait until Monday'],
    ] as const) {
      const { output } = await answerEscalation(answer)
      expect([answer, (output as { ruling: { decision: string } }).ruling.decision]).toEqual([answer, decision])
    }
  })

  test('CO86 an empty answer or an unknown number is asked again', async () => {
    for (const answer of ['', '  ', '?!', '7', 0, null, { x: 1 }, true]) {
      const { status, gates } = await answerEscalation(answer)
      expect([answer, status]).toEqual([answer, 'waiting'])
      expect(gates).toHaveLength(1)
      expect(gates[0]?.question).toMatch(
        /is not a valid answer: there are 2 positions\.\n.*Ship it\?\n1\. Go \(a; 53 %\)/,
      )
    }
  })

  test('CO86 the question is repeated until the answer is valid', async () => {
    const { troupe } = await createCollaborationTroupe(conflicting)
    let run: RunResult = await troupe.run('collaborate' as string, input)
    for (const answer of ['9', '', 'option 3']) {
      run = await (await troupe.answer(run.gates[0]?.gate_id ?? '', answer)).result
      expect(run.status).toBe('waiting')
    }
    run = await (await troupe.answer(run.gates[0]?.gate_id ?? '', '1')).result
    expect(run.output).toMatchObject({ ruling: { by: 'person', decision: 'Go' } })
  })
})
