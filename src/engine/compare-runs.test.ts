import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { chunkModel, textChunks, toolCallChunks } from '../../test/support/manual-doubles.ts'
import { findSeqByKey, forkAndVerify, parallelDelegation } from '../../test/support/parallel-delegation.ts'
import { agents, createTestTroupe, functionModel, taskCall } from '../../test/support/test-troupe.ts'
import { canonicalJournal, compareRuns } from '../entries/inspect.ts'
import { defineTool } from '../index.ts'

describe('CA19 comparing runs', () => {
  test('CA19 a fork with changed instructions diverges where they are first used, and the differences are counted', async () => {
    const { model, tools } = parallelDelegation()
    const { troupe, task } = await createTestTroupe({ agents, tools, model })
    const run = await task('lead', 'go')
    const events = await troupe.events(run.run_id).all()
    const cut = findSeqByKey(events, 'session:end', 'session/turn/1/tool/0/session')
    const changes = { agents: { coder: { instructions: 'You are loud.' } } }
    const { result, events: own } = await forkAndVerify(troupe, run.run_id, cut, changes)
    const compared = compareRuns(events, own)
    expect(compared.same).toBe(false)
    expect(compared.divergence).toMatchObject({
      key: 'session/turn/1/tool/0/session',
      type: 'session:open',
      fields: [{ path: 'data.agent.instructions', before: 'You are coder.', after: 'You are loud.' }],
    })
    expect(compared.runs.map(({ run_id }) => run_id)).toEqual([run.run_id, result.run_id])
    expect(compared.runs[1].forked_from).toMatchObject({ run_id: run.run_id, seq: cut })
    expect(compared.runs.map(({ usage }) => usage.calls)).toEqual([8, 8])
    expect(compared.agents.map(({ agent: name, usage }) => [name, usage[0].calls, usage[1].sessions])).toEqual([
      ['lead', 2, 1],
      ['coder', 6, 3],
    ])
  })

  test('CA19 a run and its unchanged fork are the same', async () => {
    const { model, tools } = parallelDelegation()
    const { troupe, task } = await createTestTroupe({ agents, tools, model })
    const run = await task('lead', 'go')
    const events = await troupe.events(run.run_id).all()
    const { events: own } = await forkAndVerify(troupe, run.run_id, 20)
    expect(compareRuns(events, own)).toMatchObject({ same: true, divergence: null, differences: 0 })
  })

  test('CA19 runs of different length diverge at the first event that only one of them has', async () => {
    const modelWithTurns = (turns: number) =>
      chunkModel(({ session }) => (session.turn < turns ? toolCallChunks({ name: 'look' }) : textChunks(`${turns}`)))
    const look = defineTool({
      name: 'look',
      description: 'looks',
      kind: 'read',
      category: 'perception',
      input: z.object({}),
      execute: () => ({ success: true, output: 'x' }),
    })
    const runEvents = async (turns: number) => {
      const { troupe, task } = await createTestTroupe({ agents, tools: [look], model: modelWithTurns(turns) })
      return troupe.events((await task('lead', 'go')).run_id).all()
    }
    const [short, long] = [await runEvents(2), await runEvents(4)]
    const compared = compareRuns(short, long)
    expect(compared.divergence).toMatchObject({ key: 'session/turn/2/model', type: 'model:end' })
    expect(compared.runs.map(({ usage }) => [usage.calls, usage.input, usage.output])).toEqual([
      [2, 20, 10],
      [4, 40, 20],
    ])
    expect(compareRuns(long, short).divergence?.key).toBe('session/turn/2/model')
  })
})

test('CA11 the canonical journal leaves out order, time, attempts and ids derived from the run', async () => {
  const model = functionModel(({ session }) =>
    session.agent === 'lead' && session.turn === 1 ? { calls: [taskCall('coder', 'x')] } : { text: 'ok' },
  )
  const { troupe, task } = await createTestTroupe({ agents, model })
  const [first, second] = [await task('lead', 'go'), await task('lead', 'go')]
  const journal = canonicalJournal(await troupe.events(first.run_id).all())
  expect(canonicalJournal(await troupe.events(second.run_id).all())).toEqual(journal)
  const text = JSON.stringify(journal)
  expect(text).not.toMatch(/"seq"|"at":|"epoch"|run:attempt/)
  expect(text).not.toContain(first.run_id)
  expect(text).not.toMatch(/[0-9a-f]{16}-[0-9a-f]{16}_/)
  expect(journal.map(({ key }) => key)).toEqual(journal.map(({ key }) => key).sort())
  expect(journal.find(({ type }) => type === 'session:end')?.session).toBe('session(session)')
})
