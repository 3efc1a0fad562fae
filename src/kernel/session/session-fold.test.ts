import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Event, SessionOpen } from '../event.ts'
import { isEvent } from '../event.ts'
import type { SessionFold } from './session-fold.ts'
import { extendFold, foldEvents, sessionFrom } from './session-fold.ts'
import type { SessionState } from './session-state.ts'
import { addCallUsage, applyEvent, closePendingToolCalls, inputHash, newSession } from './session-state.ts'

type Draft = Pick<Event, 'type' | 'data'>

const words = fc.string({ maxLength: 12 })
const usage = fc.record({
  input: fc.nat(500),
  output: fc.nat(50),
  cache_read: fc.constant(0),
  cache_write: fc.constant(0),
  reasoning: fc.constant(0),
})
const callId = fc.constantFrom('c1', 'c2')
/** Few keys, so that requests are repeated often. */
const modelKey = fc.nat(3).map((turn) => `s/turn/${turn}/model`)

const opening = fc
  .record({ instructions: words, read_only: fc.boolean(), segment: fc.integer({ min: 1, max: 9 }) })
  .map(({ instructions, read_only, segment }) => {
    const agent = { name: 'worker', description: '', instructions, tools: [] }
    return {
      key: 's',
      agent,
      tools: [],
      segment,
      ...(read_only ? { read_only: true } : undefined),
    } as never as SessionOpen
  })
const textPart = words.map((text) => ({ type: 'text' as const, text }))
const callPart = callId.map((id) => ({ type: 'tool-call' as const, id, name: 'look', input: {} }))
const response = fc.record({
  key: modelKey,
  attempt: fc.constant(1),
  message: fc.record({
    role: fc.constant('assistant' as const),
    content: fc.array(fc.oneof(textPart, callPart), { maxLength: 3 }),
  }),
  stop: fc.constant('end'),
  usage,
  usd: fc.constant(null),
})

const draft: fc.Arbitrary<Draft> = fc.oneof(
  opening.map((data) => ({ type: 'session:open', data }) as Draft),
  fc
    .record({ text: words, pinned: fc.boolean(), key: fc.constantFrom('s/input', 's/turn/1/salvage') })
    .map(({ text, pinned, key }) => {
      const message = { role: 'user', content: [{ type: 'text', text }], ...(pinned ? { pinned } : undefined) }
      return { type: 'session:input', data: { key, message } } as Draft
    }),
  modelKey.map((key) => ({ type: 'model:begin', data: { key } }) as never as Draft),
  response.map((data) => ({ type: 'model:end', data }) as Draft),
  response.map((data) => ({ type: 'model:end', data: { ...data, estimated: true } }) as Draft),
  response.map((data) => ({ type: 'model:end', data: { ...data, phase: 'summary' } }) as Draft),
  fc
    .record({ id: callId, output: words, plan_mode: fc.option(fc.boolean(), { nil: undefined }) })
    .map(({ id, output, plan_mode }) => {
      const data = { key: 's/tool', tool: 'look', tool_call_id: id, output, started: [`b_${id}`] }
      return { type: 'tool:post', data: { ...data, ...(plan_mode === undefined ? undefined : { plan_mode }) } } as never
    }),
  callId.map((id) => {
    const detail = { code: 'invalid_tool_input', message: 'no', hint: '', alternatives: [] }
    return { type: 'tool:error', data: { key: 's/tool', tool: 'look', tool_call_id: id, error: 'no', detail } } as never
  }),
  fc.record({ from: fc.nat(3), length: fc.nat(3), summary: fc.option(words) }).map(({ from, length, summary }) => {
    const data = { key: 's/compress', truncated_messages: [from], from, to: from + length, summary, bytes_before: 0 }
    return { type: 'session:compress', data } as Draft
  }),
  words.map(
    (partial_text) => ({ type: 'model:lost', data: { key: 's/turn/1/model', partial_text } }) as never as Draft,
  ),
)

/** A journal of one session in two runs, in segments. */
const journal = fc.array(fc.array(draft, { maxLength: 8 }), { minLength: 1, maxLength: 6 }).map((segments) =>
  segments.map((segment, index) =>
    segment.map(({ type, data }, position) => {
      const run_id = `r${index % 2}`
      return { run_id, seq: index * 100 + position + 1, at: 0, type, session_id: 's1', data } as Event
    }),
  ),
)

/** A direct fold under the opening of the next segment, without `SessionFold`. */
function directFold(events: readonly Event[], next: SessionOpen): SessionState {
  const session = newSession('s1', next)
  const isRepeated = (end: Event) =>
    events.some(
      (event) =>
        isEvent(event, 'model:begin') &&
        isEvent(end, 'model:end') &&
        event.run_id === end.run_id &&
        event.data.key === end.data.key &&
        event.seq > end.seq,
    )
  for (const event of events) {
    if (isEvent(event, 'model:end') && isRepeated(event)) addCallUsage(session, event.data)
    else applyEvent(session, event)
  }
  closePendingToolCalls(session)
  return session
}

test('S11 a fold that is extended segment by segment equals a fold of all events from scratch', () => {
  fc.assert(
    fc.property(journal, opening, (segments, next) => {
      let incremental: SessionFold = foldEvents([])
      segments.forEach((segment, index) => {
        const all = segments.slice(0, index + 1).flat()
        incremental = extendFold(incremental, segment) ?? foldEvents(all)
        const resumed = sessionFrom(incremental, 's1', next)
        expect(resumed).toEqual(sessionFrom(foldEvents(all), 's1', next))
        const direct = directFold(all, next)
        expect(inputHash(resumed, 'm')).toBe(inputHash(direct, 'm'))
        expect(resumed).toEqual(direct)
      })
    }),
    { numRuns: 500 },
  )
})

test('S11 neither a session nor an extension changes the fold that it was made from', () => {
  fc.assert(
    fc.property(journal, opening, (segments, next) => {
      const [first = [], ...later] = segments
      const fold = foldEvents(first)
      const before = structuredClone(fold.state)
      const session = sessionFrom(fold, 's1', next)
      for (const event of later.flat()) applyEvent(session, event)
      inputHash(session, 'm')
      extendFold(fold, later.flat())
      expect(fold.state).toEqual(before)
    }),
  )
})

test('S11 a fold is not extended by a repeated model request, which replaces a response', () => {
  const request = (seq: number) =>
    ({ run_id: 'r0', seq, at: 0, type: 'model:begin', data: { key: 'k' } }) as never as Event
  const end = {
    run_id: 'r0',
    seq: 2,
    at: 0,
    type: 'model:end',
    data: { ...fc.sample(response, 1)[0], key: 'k' },
  } as Event
  const fold = foldEvents([request(1), end])
  expect(extendFold(fold, [request(3)])).toBeUndefined()
  expect(extendFold(fold, [{ ...request(3), run_id: 'r1' } as Event])).toBeDefined()
})

test('the hash of a conversation does not depend on when it is computed', () => {
  fc.assert(
    fc.property(journal, opening, (segments, next) => {
      const [eager, late] = [newSession('s1', next), newSession('s1', next)]
      for (const event of segments.flat()) {
        for (const session of [eager, late]) applyEvent(session, event)
        inputHash(eager, 'm')
      }
      expect(inputHash(eager, 'm')).toBe(inputHash(late, 'm'))
    }),
  )
})
