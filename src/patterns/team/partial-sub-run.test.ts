import { expect, test } from 'vitest'
import type { AgentReplies } from '../../../test/support/collaboration.ts'
import { agentModel, contributionJson } from '../../../test/support/collaboration.ts'
import { expectReplayMatches } from '../../../test/support/replay-harness.ts'
import { createTroupeWithStore, runToEnd, storeOf } from '../../../test/support/test-troupe.ts'
import type { RunResult } from '../../index.ts'
import type { TeamOutput } from './input.ts'

const legal = {
  name: 'Legal',
  agents: [{ name: 'drafter' }, { name: 'checker' }, { name: 'lawyer', kind: 'human' }],
  handoffs: [
    { from_agent: 'drafter', to_agent: 'checker' },
    { from_agent: 'checker', to_agent: 'lawyer' },
  ],
  after_work_behavior: 'terminate',
}

const company = {
  name: 'Company',
  agents: [{ name: 'planner' }, { name: 'legal', team: legal }],
  handoffs: [{ from_agent: 'planner', to_agent: 'legal' }],
  after_work_behavior: 'terminate',
}

const board = {
  name: 'Board',
  agents: ['planner', 'a', 'b', 'c'].map((name) => ({ name })),
  groups: [{ name: 'experts', kind: 'consensus', members: ['a', 'b', 'c'] }],
  handoffs: [{ from_agent: 'planner', to_agent: 'experts' }],
  after_work_behavior: 'terminate',
}

/** Runs a team until the named agent is asked, which never answers, and cancels the run. */
async function cancelDuring(team: unknown, agent: string, replies: AgentReplies): Promise<RunResult> {
  const reached = Promise.withResolvers<void>()
  const hang = () => {
    reached.resolve()
    return new Promise<never>(() => {}) as never
  }
  const model = agentModel({ ...replies, [agent]: hang })
  const troupe = await createTroupeWithStore({ store: 'memory', embedder: false, model })
  const { run_id } = await troupe.stream('team' as string, { team, message: 'Go.' })
  await reached.promise
  const result = await troupe.cancel(run_id, 'enough')
  await expectReplayMatches(storeOf(troupe), run_id)
  return result
}

const speakers = ({ output }: RunResult) =>
  (output as TeamOutput).history.map(({ agent_name, parts }) => [agent_name, parts[0]?.text])

function expectTrueTotals({ output, usage }: RunResult): void {
  expect(usage.input + usage.output).toBeGreaterThan(0)
  expect((output as TeamOutput).totals.tokens).toBe(usage.input + usage.output)
}

test('TM70 a team cancelled inside a sub-team keeps the answers of that sub-team, and all tokens', async () => {
  const result = await cancelDuring(company, 'checker', { planner: 'The plan.', drafter: 'The draft.' })
  expect(result).toMatchObject({ status: 'cancelled', output: { response: 'The draft.', agent: 'legal' } })
  expect(speakers(result)).toEqual([
    ['user', 'Go.'],
    ['planner', 'The plan.'],
    ['legal/drafter', 'The draft.'],
  ])
  expect((result.output as TeamOutput).history.at(-1)?.handoff_target).toBe('legal/checker')
  const steps = (result.output as TeamOutput).history.map(({ step_id }) => step_id)
  expect(new Set(steps).size).toBe(steps.length)
  expectTrueTotals(result)
})

test('TM70 a team cancelled while a sub-team waits for a person keeps its answers', async () => {
  const model = agentModel({ planner: 'The plan.', drafter: 'The draft.', checker: 'Checked.' })
  const troupe = await createTroupeWithStore({ store: 'memory', model })
  const waiting = await troupe.run('team' as string, { team: company, message: 'Go.' })
  expect(waiting.status).toBe('waiting')
  const result = await troupe.cancel(waiting.run_id, 'enough')
  expect(speakers(result).slice(2)).toEqual([
    ['legal/drafter', 'The draft.'],
    ['legal/checker', 'Checked.'],
  ])
  expect((result.output as TeamOutput).response).toBe('Checked.')
  expectTrueTotals(result)
})

test('TM70 a team cancelled two levels down keeps the innermost answers', async () => {
  const holding = {
    name: 'Holding',
    agents: [{ name: 'company', team: company }],
    after_work_behavior: 'terminate',
  }
  const result = await cancelDuring(holding, 'checker', { planner: 'The plan.', drafter: 'The draft.' })
  expect(speakers(result)).toEqual([
    ['user', 'Go.'],
    ['company/planner', 'The plan.'],
    ['company/legal/drafter', 'The draft.'],
  ])
  expectTrueTotals(result)
})

test('TM70 a team cancelled inside a consensus group keeps the finished answers, and all tokens', async () => {
  const replies = { planner: 'The plan.', a: contributionJson('ship'), b: contributionJson('wait') }
  const result = await cancelDuring(board, 'c', replies)
  const { response, totals } = result.output as TeamOutput
  expect(response).toBe('a: because of ship\n\nb: because of wait')
  expect(totals.turns).toBe(4)
  expectTrueTotals(result)
  const judged = await cancelDuring(board, 'coordinator', { ...replies, c: contributionJson('wait') })
  expect((judged.output as TeamOutput).response).toContain('c: because of wait')
  expectTrueTotals(judged)
})

test('TM70 a team cancelled inside a parallel group keeps the answers of its members and of a sub-team in it', async () => {
  const both = {
    ...company,
    agents: [{ name: 'planner' }, { name: 'legal', team: legal }, { name: 'writer' }],
    groups: [{ name: 'both', kind: 'parallel', members: ['legal', 'writer'] }],
    handoffs: [{ from_agent: 'planner', to_agent: 'both' }],
  }
  const replies = { planner: 'The plan.', drafter: 'The draft.', writer: 'The text.' }
  const result = await cancelDuring(both, 'checker', replies)
  expect((result.output as TeamOutput).response).toBe('writer: The text.\n\nThe draft.')
  expect(speakers(result).map(([name]) => name)).toEqual(['user', 'planner', 'legal/drafter'])
  expectTrueTotals(result)
})

test('TM70 a team that reaches a limit inside a sub-team keeps the answers of that sub-team', async () => {
  const model = agentModel({ planner: 'The plan.', drafter: 'The draft.', checker: 'Checked.' })
  const troupe = await createTroupeWithStore({ store: 'memory', model })
  const result = await runToEnd(troupe, 'team' as string, { team: company, message: 'Go.' }, { limits: { calls: 2 } })
  expect(result).toMatchObject({ status: 'failed', stop_reason: 'budget', output: { response: 'The draft.' } })
  expect(speakers(result).map(([name]) => name)).toEqual(['user', 'planner', 'legal/drafter', 'legal/checker', 'legal'])
  expectTrueTotals(result)
  await expectReplayMatches(storeOf(troupe), result.run_id)
  const done = await (await troupe.resume(result.run_id, { limits: { calls: 9 } })).result
  expect(done.status).toBe('waiting')
})
