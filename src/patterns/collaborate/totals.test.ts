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
import { agent, storeOf } from '../../../test/support/test-troupe.ts'
import { verifyJournal } from '../../audit/verify-journal.ts'
import type { ModelRequest } from '../../entries/models.ts'
import type { Event } from '../../index.ts'
import { isEvent } from '../../kernel/event.ts'

/** One dollar for 1024 tokens: sums are exact in any order. */
const prices = {
  cost: (_model: string, { input, output }: { input: number; output: number }) => (input + output) / 1024,
}
const models = { prices }
const conflicting: AgentReplies = {
  a: contributionJson('go', 0.9),
  b: contributionJson('wait', 0.8),
  c: contributionJson('stop', 0.7),
  coordinator: 'Final answer.',
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
const divideOrAnswer = (request: ModelRequest) =>
  request.output ? plan(request.session.turn === 1 ? 'x' : 'b') : 'Done.'

/** The tokens in the events of agents and synthesis. */
function reportedTokens(events: readonly Event[]): number {
  const agents = [
    ...eventData(events, 'tool:collaborative:agent:complete'),
    ...eventData(events, 'tool:collaborative:agent:error'),
  ]
  const written = eventData(events, 'tool:collaborative:synthesis:complete')
  return [...agents, ...written].reduce((sum, { tokens }) => sum + tokens, 0)
}

describe('totals', () => {
  const cases: [string, AgentReplies, Record<string, unknown>][] = [
    ['a coordinator', conflicting, {}],
    ['an evaluator', { ...conflicting, evaluator: best }, { synthesis: 'best_of' }],
    ['a round of mediation', conflicting, { on_conflict: 'mediate' }],
    ['a divided task with a correction', { ...conflicting, a: divideOrAnswer }, { mode: 'hierarchical' }],
    [
      'a divided task whose subtasks disagree',
      { ...conflicting, a: divideOrAnswer },
      { mode: 'hierarchical', on_conflict: 'mediate' },
    ],
    ['a plain-text answer', { ...conflicting, b: 'Hm.' }, {}],
    ['a failure', { ...conflicting, b: permanentError('out') }, { synthesis: 'vote' }],
    ['a coordinator that fails', { ...conflicting, coordinator: ' ' }, {}],
    ['one after the other', conflicting, { mode: 'sequential' }],
  ]
  test.each(cases)(
    'CO54 total_tokens and cost match the ledger and the sum of the parts: %s',
    async (_, replies, input) => {
      const { output, events, result, troupe } = await runCollaboration(replies, input, { models })
      const { usage } = result
      expect(output.metadata.total_tokens).toBe(usage.input + usage.output)
      expect(output.metadata.cost).toBe(usage.usd)
      expect(output.metadata.cost).toBe(output.metadata.total_tokens / 1024)
      expect(reportedTokens(events)).toBe(output.metadata.total_tokens)
      const written = eventData(events, 'tool:collaborative:synthesis:complete')[0]?.tokens ?? 0
      expect(output.contributions.reduce((sum, { tokens_used }) => sum + tokens_used, written)).toBe(
        output.metadata.total_tokens,
      )
      expect(eventData(events, 'tool:collaborative:complete').at(-1)?.total_tokens).toBe(output.metadata.total_tokens)
      expect(verifyJournal(events)).toEqual([])
      await expectReplayMatches(storeOf(troupe), result.run_id, { embedder: false })
    },
  )

  test('CO54 cost is null for an unknown price', async () => {
    const { output } = await runCollaboration(conflicting)
    expect(output.metadata.cost).toBeNull()
  })

  test('CO55 a collaboration called as a tool counts only its own sessions', async () => {
    const task = (name: string) => ({
      name: 'collaborate',
      input: { task: name, agents: [{ name: 'a' }, { name: 'b' }] },
    })
    const { troupe } = await createCollaborationTroupe(
      {
        ...conflicting,
        lead: (request) =>
          request.session.turn === 1
            ? toolCallChunks(task('one'), task('two'), { name: 'task', input: { agent: 'reviewer', instruction: 'x' } })
            : 'end',
        reviewer: 'looked',
      },
      { models, agents: [agent('lead', { tools: ['collaborate', 'task'] })] },
    )
    const result = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    const events = await troupe.events(result.run_id).all()
    const outputs = eventData(events, 'tool:post').flatMap(({ tool, output }) =>
      tool === 'collaborate' ? [output as CollaborateRunOutput] : [],
    )
    expect(outputs.map(({ metadata }) => [metadata.total_tokens, metadata.cost])).toEqual([
      [45, 45 / 1024],
      [45, 45 / 1024],
    ])
    // The lead has two turns, the reviewer one.
    expect(result.usage.input + result.usage.output).toBe(45 + 45 + 3 * 15)
    const calls = eventData(events, 'tool:pre').filter(({ tool }) => tool === 'collaborate')
    expect(new Set(calls.map(({ parallel_group_id }) => parallel_group_id)).size).toBe(1)
    const starts = events.filter((event) => isEvent(event, 'tool:collaborative:start'))
    expect(starts.map(({ session_id }) => session_id)).toEqual(
      Array(2).fill((result.output as { session_id: string }).session_id),
    )
    expect(verifyJournal(events)).toEqual([])
  })
  test('CO58 a changed roster does not affect a resumed or replayed run', async () => {
    const expert = agent('expert', { instructions: 'Know everything.', tools: [] })
    const before = await createCollaborationTroupe(
      { ...conflicting, expert: contributionJson('run') },
      { agents: [expert] },
    )
    const agents = ['expert', { name: 'a' }]
    const waiting = await before.troupe.run('collaborate' as string, { task: 'x', agents, on_conflict: 'escalate' })
    await before.troupe.drain()
    const store = storeOf(before.troupe)
    const after = await createCollaborationTroupe(
      { coordinator: 'Done.' },
      {
        store,
        agents: [agent('a', { instructions: 'New here.' }), agent('expert', { instructions: 'Know nothing.' })],
      },
    )
    const done = await (await after.troupe.answer(waiting.gates[0]?.gate_id ?? '', '1')).result
    expect(done).toMatchObject({ status: 'completed', output: { result: 'Done.' } })
    await expectReplayMatches(store, done.run_id, { embedder: false })
    await expectReplayMatches(store, done.run_id, { embedder: false, agents: [expert] })
  })
})
