import { expect, test } from 'vitest'
import { z } from 'zod'
import { eventData } from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent, createTestTroupe, functionModel, lastMessageText, runToEnd } from '../../test/support/test-troupe.ts'
import { verifyJournal } from '../audit/verify-journal.ts'
import type { Context } from './context.ts'
import type { Pattern } from './pattern.ts'
import { definePattern } from './pattern.ts'

const vote = z.strictObject({ agent: z.string(), approve: z.boolean() })

/** A pattern that counts votes; `steps` counts what was paid. */
function review(execute: (context: Context) => unknown): Pattern {
  return definePattern({
    name: 'review',
    version: 1,
    description: 'reviews',
    category: 'planning',
    input: z.strictObject({}),
    output: z.strictObject({ votes: z.int() }),
    events: { 'review:vote': vote },
    execute: async (context) => ({ success: true, output: await execute(context as Context) }),
  })
}

test('PT1 an event of a declared type is recorded with its data and settles its key', async () => {
  const pattern = review((context) => {
    context.emit('vote/1', 'review:vote', { agent: 'a', approve: true })
    return { votes: 1 }
  })
  const { troupe } = await createTestTroupe({ patterns: [pattern] })
  const { run_id, status } = await troupe.run('review', {})
  const events = await troupe.events(run_id).all()
  expect(status).toBe('completed')
  expect(events.filter(({ type }) => (type as string) === 'review:vote').map(({ data }) => data)).toEqual([
    { key: 'vote/1', agent: 'a', approve: true },
  ])
  // The audit knows no pattern, and needs none.
  expect(verifyJournal(events)).toEqual([])
})

test.each([
  ['review:vote', { agent: 'a' }, "the event 'review:vote' does not match its schema: approve"],
  ['review:vote', { agent: 'a', approve: true, more: 1 }, "the event 'review:vote' does not match its schema"],
  ['review:vote', 'text', "the event 'review:vote' does not match its schema"],
  ['review:end', {}, "the pattern 'review' declares no event 'review:end'"],
  ['run:end', {}, "the pattern 'review' declares no event 'run:end'"],
])('PT2 emitting %s with %j fails with invalid_event and records no event', async (type, data, message) => {
  const { troupe } = await createTestTroupe({
    patterns: [review((context) => context.emit('vote', type, data))],
  })
  const { run_id, status, error } = await runToEnd(troupe, 'review', {})
  expect(status).toBe('failed')
  expect(error).toMatchObject({ code: 'invalid_event', message: expect.stringContaining(message) })
  expect((await troupe.events(run_id).all()).map(({ type }) => type)).toEqual(['run:start', 'run:attempt', 'run:end'])
})

test('PT2 emitting a field `key`, which the key of the event would replace, fails with invalid_event', async () => {
  const events = { 'review:keyed': z.object({ key: z.string() }) }
  const pattern = definePattern({ ...review((context) => context.emit('a', 'review:keyed', { key: 'mine' })), events })
  const { troupe } = await createTestTroupe({ patterns: [pattern] })
  const { error } = await runToEnd(troupe, 'review', {})
  expect(error).toMatchObject({ code: 'invalid_event', message: expect.stringContaining('`key` is reserved') })
})

test.each([
  ['vote', 'is not a namespaced event type'],
  ['run:start', 'is an event of the kernel'],
  ['Review Vote', 'is not a namespaced event type'],
])("PT3 a pattern that declares the event '%s' is rejected", (type, message) => {
  const define = () => definePattern({ ...review(() => ({})), events: { [type]: vote } })
  expect(define).toThrow(message)
})

test('PT4 an output that does not match fails the run with invalid_output, is kept, and a corrected pattern resumes without repeating a step', async () => {
  let paid = 0
  const store = memoryStore()
  const { troupe: first } = await createTestTroupe({
    store,
    patterns: [
      review(async (context) => {
        await context.step('count', () => ++paid)
        return { votes: 'two' }
      }),
    ],
  })
  const failed = await runToEnd(first, 'review', {})
  expect(failed).toMatchObject({ status: 'failed', stop_reason: 'failed', output: { votes: 'two' } })
  expect(failed.error).toMatchObject({
    code: 'invalid_output',
    message: expect.stringMatching(/^the output of the pattern 'review' does not match its schema: votes/),
  })
  const { troupe: second } = await createTestTroupe({
    store,
    patterns: [review(async (context) => ({ votes: await context.step('count', () => ++paid) }))],
  })
  const { result } = await second.resume(failed.run_id)
  expect(await result).toMatchObject({ status: 'completed', output: { votes: 1 } })
  expect(paid).toBe(1)
})

test('PT4 as a tool, an output that does not match is an error result that keeps the output', async () => {
  const model = functionModel((request) =>
    request.session.turn === 1 ? { calls: [{ name: 'review', input: {} }] } : { text: lastMessageText(request) },
  )
  const { troupe, task } = await createTestTroupe({
    model,
    agents: [agent('lead')],
    patterns: [review(() => ({ votes: 0.5 }))],
  })
  const { run_id, status } = await task('lead', 'go')
  expect(status).toBe('completed')
  expect(eventData(await troupe.events(run_id).all(), 'tool:error')).toMatchObject([
    { tool: 'review', output: { votes: 0.5 }, detail: { code: 'invalid_output' } },
  ])
})
