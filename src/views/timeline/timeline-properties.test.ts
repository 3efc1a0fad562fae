import fc from 'fast-check'
import { expect, test } from 'vitest'
import { expectChangesFrom, expectReplay, expectSameCosts, expectValid } from '../../../test/support/timeline-checks.ts'
import type { Event } from '../../kernel/event.ts'
import { DEFAULT_LIMITS } from '../../kernel/limits.ts'
import { NO_USAGE } from '../../kernel/model.ts'
import { definePatternView } from '../pattern-view.ts'
import { timelineFrom } from './reduce-timeline.ts'
import type { TimelineMark } from './timeline-mark.ts'

/* Journals that no run writes: any event at any time. A timeline must never throw, and its rows must stay consistent. */

const sessionKey = fc.constantFrom('session', 'session/turn/1/tool/0/session', 'session/turn/1/tool/1/session', 'other')
const session_id = fc.constantFrom('s1', 's2', 's3')
const turn = fc.tuple(sessionKey, fc.integer({ min: 1, max: 2 })).map(([key, number]) => `${key}/turn/${number}`)
const call = fc.tuple(turn, fc.integer({ min: 0, max: 1 })).map(([key, number]) => `${key}/tool/${number}`)
const agent = fc.constantFrom('lead', 'coder', 'critic')
const agentOrNobody = fc.option(agent)
const error = {
  code: 'internal',
  message: 'It broke 🦊.',
  hint: '',
  alternatives: [],
  responsible: 'model',
  retry: false,
}
const usage = { ...NO_USAGE, input: 7, output: 3, cache_read: 2 }

type Draft = { type: string; session_id?: string; data: object }

const event = <Fields extends object>(type: string, fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> }) =>
  fc.record({ type: fc.constant(type), session_id, data: fc.record(fields) }) as fc.Arbitrary<Draft>

const mark: fc.Arbitrary<TimelineMark> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('handoff' as const, 'consultation' as const),
    from: agentOrNobody,
    to: agentOrNobody,
  }),
  fc.record({
    kind: fc.constant('message' as const),
    from: agentOrNobody,
    to: agentOrNobody,
    type: agent,
    text: fc.string(),
  }),
  fc.record({ kind: fc.constant('dependency' as const), from_session: sessionKey, to_session: sessionKey }),
  fc.record({ kind: fc.constant('phase' as const), title: fc.option(fc.string()) }),
  fc.record({ kind: fc.constant('session' as const), session: sessionKey, title: fc.string() }),
  fc.record({
    kind: fc.constant('vote' as const),
    session: sessionKey,
    text: fc.string(),
    won: fc.option(fc.boolean()),
  }),
  fc.record({
    kind: fc.constantFrom('blocked' as const, 'unblocked' as const),
    session: sessionKey,
    text: fc.string(),
  }),
)

const toolFields = {
  key: call,
  tool: fc.constantFrom('Read', 'task'),
  parallel_group_id: fc.constantFrom('pg1', 'pg2'),
}

const draft: fc.Arbitrary<Draft> = fc.oneof(
  event('session:open', {
    key: sessionKey,
    agent: agent.map((name) => ({ name })),
    parent_session_id: fc.option(session_id),
    depth: fc.constant(0),
    segment: fc.constant(1),
  }),
  event('session:end', {
    key: sessionKey,
    status: fc.constantFrom('completed', 'failed'),
    text: fc.string(),
    error: fc.constant(null),
  }),
  event('session:input', {
    key: sessionKey,
    message: fc.string().map((text) => ({ role: 'user', content: [{ type: 'text', text }] })),
  }),
  event('model:begin', {
    key: turn.map((key) => `${key}/model`),
    attempt: fc.integer({ min: 1, max: 2 }),
    model: fc.constant('m'),
    reserved: fc.constant({ calls: 1, tokens: 9, usd: 0 }),
  }),
  event('model:end', {
    key: turn.map((key) => `${key}/model`),
    attempt: fc.integer({ min: 1, max: 2 }),
    usage: fc.constant(usage),
    message: fc
      .array(fc.constant({ type: 'tool-call', name: 'Read' }), { maxLength: 2 })
      .map((content) => ({ content })),
  }),
  event('model:error', {
    key: turn.map((key) => `${key}/model`),
    attempt: fc.constant(1),
    usage: fc.constant(usage),
    error: fc.constant(error),
    retry: fc.constantFrom(undefined, {}),
  }),
  event('model:lost', {
    key: turn.map((key) => `${key}/model`),
    attempt: fc.constant(1),
    reserved: fc.constant({ calls: 1, tokens: 9, usd: 0 }),
    reason: fc.constantFrom('crash', 'abort'),
  }),
  event('tool:pre', {
    ...toolFields,
    category: fc.constant('perception'),
    kind: fc.constant('read'),
    input: fc.object(),
  }),
  event('tool:post', toolFields),
  event('tool:error', { ...toolFields, error: fc.string() }),
  event('gate:open', {
    key: call.map((key) => `${key}/permission`),
    gate_id: fc.constantFrom('g1', 'g2'),
    question: fc.string(),
    detail: fc.constant({ permission: 'Edit(a.ts)' }),
  }),
  event('gate:answer', {
    key: call.map((key) => `${key}/permission`),
    gate_id: fc.constantFrom('g1', 'g2'),
    answer: fc.anything(),
    by: agent,
  }),
  event('step:begin', { key: turn.map((key) => `${key}/performer`) }),
  event('step:end', { key: turn.map((key) => `${key}/performer`) }),
  event('run:attempt', { epoch: fc.constant(2) }),
  event('run:park', { gates: fc.constant([]) }),
  event('run:interrupt', { reason: fc.string() }),
  event('run:reopen', {
    key: fc.option(call.map((key) => `${key}/session/turn/1/model`)),
    limits: fc.constant(DEFAULT_LIMITS),
  }),
  event('run:end', {
    status: fc.constantFrom('completed', 'failed'),
    stop_reason: fc.constant('completed'),
    error: fc.constant(null),
  }),
  event('custom:mark', { key: sessionKey, marks: fc.array(mark, { maxLength: 2 }) }),
  event('custom:throw', { key: sessionKey }),
  event('future:thing', { key: sessionKey }),
)

const journal = fc
  .array(fc.tuple(draft, fc.integer({ min: -5000, max: 5000 })), { maxLength: 60 })
  .map((drafts): Event[] => {
    let at = 1_000_000
    const data = {
      format: 2,
      project: 'p',
      pattern: 'marking',
      version: 1,
      input: { task: 'x' },
      limits: DEFAULT_LIMITS,
    }
    const start = { run_id: 'r', seq: 1, at, type: 'run:start', data } as Event
    const rest = drafts.map(([each, step], index) => {
      at += step
      return { run_id: 'r', seq: index + 2, at, ...each } as unknown as Event
    })
    return [start, ...rest]
  })

/** A pattern whose events carry their marks. */
const view = definePatternView<object, { type: string; data: { key: string; marks?: TimelineMark[] } }>({
  initial: () => ({}),
  reduce: (state) => state,
  timeline(_state, { type, data }) {
    if (type === 'custom:throw') throw new Error('another version')
    return data.marks ?? []
  },
})
const prices = { cost: (_model: string, { input, output }: typeof usage) => (input + output) / 1e6 }
const sources = { views: [{ name: 'marking', events: ['custom:mark', 'custom:throw'], view }], prices }

test('TL9 TL10 TL11 whatever a journal holds, its timeline is valid, replayable and follows changes', () => {
  fc.assert(
    fc.property(journal, fc.nat(), (events, k) => {
      expectValid(timelineFrom(events, sources))
      expectReplay(events, sources)
      expectChangesFrom(events, k % events.length, sources)
    }),
    { numRuns: 150 },
  )
})

test('TL12 whatever a journal holds, the costs of its run are the sums of its accounts', () => {
  fc.assert(
    fc.property(journal, (events) => {
      expectSameCosts(events, prices)
    }),
    { numRuns: 100 },
  )
})

test('TL11 a view that throws is not used again, and an unknown type is one notice', () => {
  const at = (seq: number, type: string, data: object) =>
    ({ run_id: 'r', seq, at: seq, type, data: { key: 'k', ...data } }) as unknown as Event
  const { notices, phases } = timelineFrom(
    [
      at(1, 'run:start', { pattern: 'marking' }),
      at(2, 'custom:mark', { marks: [{ kind: 'phase', title: 'Plan' }] }),
      at(3, 'custom:throw', {}),
      at(4, 'custom:mark', { marks: [{ kind: 'phase', title: 'Build' }] }),
      at(5, 'future:thing', {}),
      at(6, 'future:thing', {}),
    ],
    sources,
  )
  expect(phases.map(({ title }) => title)).toEqual(['Plan'])
  expect(notices.map(({ seq, kind }) => [seq, kind])).toEqual([
    [3, 'note'],
    [4, 'unknown_event'],
    [5, 'unknown_event'],
  ])
})
