import { describe, expect, test } from 'vitest'
import type { AgentReplies, CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import {
  contributionJson,
  createCollaborationTroupe,
  permanentError,
  runCollaboration,
} from '../../../test/support/collaboration.ts'
import { eventData, toolCallChunks } from '../../../test/support/manual-doubles.ts'
import { expectReplayMatches } from '../../../test/support/replay-harness.ts'
import { agent } from '../../../test/support/test-troupe.ts'
import { verifyJournal } from '../../audit/verify-journal.ts'
import type { Event, ModelRequest } from '../../index.ts'

/** One dollar for 1024 tokens: sums are exact in any order. */
const prices = {
  cost: (_model: string, { input, output }: { input: number; output: number }) => (input + output) / 1024,
}
const models = { prices }
const torn: AgentReplies = {
  a: contributionJson('go', 0.9),
  b: contributionJson('wait', 0.8),
  c: contributionJson('stop', 0.7),
  coordinator: 'So be it.',
}
const best = JSON.stringify({ scores: [{ answer: 1, score: 9, reason: 'r' }], best: 1, reason: 'r' })
const plan = (agent: string) =>
  JSON.stringify({
    plan: 'p',
    assignments: [
      { agent, subtask: 's' },
      { agent: 'c', subtask: 't' },
    ],
  })
const leading = (request: ModelRequest) => (request.output ? plan(request.session.turn === 1 ? 'x' : 'b') : 'Done.')

/** What the agents and the synthesis say that they used. */
function told(events: readonly Event[]): number {
  const agents = [
    ...eventData(events, 'tool:collaborative:agent:complete'),
    ...eventData(events, 'tool:collaborative:agent:error'),
  ]
  const written = eventData(events, 'tool:collaborative:synthesis:complete')
  return [...agents, ...written].reduce((sum, { tokens }) => sum + tokens, 0)
}

describe('totals', () => {
  const cases: [string, AgentReplies, Record<string, unknown>][] = [
    ['a coordinator', torn, {}],
    ['an evaluator', { ...torn, evaluator: best }, { synthesis: 'best_of' }],
    ['a round of mediation', torn, { on_conflict: 'mediate' }],
    ['a divided task with a correction', { ...torn, a: leading }, { mode: 'hierarchical' }],
    ['a divided task whose parts disagree', { ...torn, a: leading }, { mode: 'hierarchical', on_conflict: 'mediate' }],
    ['an answer in prose', { ...torn, b: 'Hm.' }, {}],
    ['a failure', { ...torn, b: permanentError('out') }, { synthesis: 'vote' }],
    ['a coordinator that fails', { ...torn, coordinator: ' ' }, {}],
    ['one asked first', torn, { solo_first: true, mode: 'sequential' }],
  ]
  test.each(cases)(
    'CO54 tokens and cost are the ledger’s, and the parts add up to them: %s',
    async (_, lines, input) => {
      const { output, events, result, troupe } = await runCollaboration(lines, input, { models })
      const { usage } = result
      expect(output.metadata.total_tokens).toBe(usage.input + usage.output)
      expect(output.metadata.cost).toBe(usage.usd)
      expect(output.metadata.cost).toBe(output.metadata.total_tokens / 1024)
      expect(told(events)).toBe(output.metadata.total_tokens)
      const written = eventData(events, 'tool:collaborative:synthesis:complete')[0]?.tokens ?? 0
      expect(output.contributions.reduce((sum, { tokens_used }) => sum + tokens_used, written)).toBe(
        output.metadata.total_tokens,
      )
      expect(eventData(events, 'tool:collaborative:complete').at(-1)?.total_tokens).toBe(output.metadata.total_tokens)
      expect(verifyJournal(events)).toEqual([])
      await expectReplayMatches(troupe.store, result.run_id, { embedder: false })
    },
  )

  test('CO54 an unknown price is no price', async () => {
    const { output } = await runCollaboration(torn)
    expect(output.metadata.cost).toBeNull()
  })

  test('CO55 called as a tool it is a subtree of its caller’s run: it counts what is its own, beside other calls', async () => {
    const task = (name: string) => ({
      name: 'collaborate',
      input: { task: name, agents: [{ name: 'a' }, { name: 'b' }] },
    })
    const { troupe } = await createCollaborationTroupe(
      {
        ...torn,
        lead: (request) =>
          request.session.turn === 1
            ? toolCallChunks(task('one'), task('two'), { name: 'task', input: { agent: 'reviewer', instruction: 'x' } })
            : 'end',
        reviewer: 'looked',
      },
      { models, agents: [agent('lead', { tools: ['collaborate', 'task'] })] },
    )
    const result = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    const events = await troupe.events(result.run_id)
    const outputs = eventData(events, 'tool:post').flatMap(({ tool, output }) =>
      tool === 'collaborate' ? [output as CollaborateRunOutput] : [],
    )
    expect(outputs.map(({ metadata }) => [metadata.total_tokens, metadata.cost])).toEqual([
      [45, 45 / 1024],
      [45, 45 / 1024],
    ])
    // The lead speaks twice, the reviewer once.
    expect(result.usage.input + result.usage.output).toBe(45 + 45 + 3 * 15)
    const asked = eventData(events, 'tool:pre').filter(({ tool }) => tool === 'collaborate')
    expect(new Set(asked.map(({ parallel_group_id }) => parallel_group_id)).size).toBe(1)
    const told = events.filter(({ type }) => type === 'tool:collaborative:start')
    expect(told.map(({ session_id }) => session_id)).toEqual(
      Array(2).fill((result.output as { session_id: string }).session_id),
    )
    expect(verifyJournal(events)).toEqual([])
  })
  test('CO58 who was asked is remembered: a roster that has changed changes nothing for a run that goes on', async () => {
    const expert = agent('expert', { instructions: 'Know everything.', tools: [] })
    const before = await createCollaborationTroupe({ ...torn, expert: contributionJson('run') }, { agents: [expert] })
    const agents = ['expert', { name: 'a' }]
    const asked = await before.troupe.run('collaborate', { task: 'x', agents, on_conflict: 'escalate' })
    await before.troupe.drain()
    const { store } = before.troupe
    const after = await createCollaborationTroupe(
      { coordinator: 'Done.' },
      { store, agents: [agent('a', { instructions: 'New here.' })] },
    )
    const done = await (await after.troupe.answer(asked.gates[0]?.gate_id ?? '', '1')).result
    expect(done).toMatchObject({ status: 'completed', output: { result: 'Done.' } })
    await expectReplayMatches(store, done.run_id, { embedder: false })
    await expectReplayMatches(store, done.run_id, { embedder: false, agents: [expert] })
  })
})
