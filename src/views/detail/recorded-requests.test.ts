import { expect, test } from 'vitest'
import { z } from 'zod'
import { chunkModel, textChunks, toolCallChunks } from '../../../test/support/manual-doubles.ts'
import { agent, createTestTroupe } from '../../../test/support/test-troupe.ts'
import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { recordedRequests } from './recorded-requests.ts'

const look = defineTool({
  ...{ name: 'look', description: 'Look around.', input: z.object({ where: z.string() }) },
  ...{ category: 'perception', kind: 'read' },
  execute: () => ({ success: true, output: 'a tree' }),
})

/** A run whose first request fails once; the model calls a tool and answers. */
async function sampleRun() {
  let tries = 0
  const model = chunkModel(({ session }) => {
    tries += 1
    if (tries === 1) throw Object.assign(new TroupeError('model_rate_limited', 'slow down'), { retry_after_ms: 0 })
    if (session.turn === 2) return textChunks('I see a tree.')
    return [{ type: 'reasoning', text: 'Where?' }, ...toolCallChunks({ name: 'look', input: { where: 'out' } })]
  })
  const worker = agent('worker', { tools: ['look'], temperature: 0.5 })
  const { troupe, task } = await createTestTroupe({ model, agents: [worker], tools: [look] })
  const { run_id } = await task('worker', 'What is there?')
  return { troupe, model, run_id, events: await troupe.events(run_id).all() }
}

test('PN20 each attempt has what was sent, proved by its hash, its facts, and its response with reasoning and calls', async () => {
  const { troupe, model, run_id } = await sampleRun()
  const requests = await troupe.requests(run_id)
  expect(requests.map(({ number, attempt, status, proof, stop }) => [number, attempt, status, proof, stop])).toEqual([
    [1, 1, 'failed', 'sent', null],
    [2, 2, 'completed', 'sent', 'tool_calls'],
    [3, 1, 'completed', 'sent', 'end'],
  ])
  expect(requests[0]?.error).toMatchObject({ code: 'model_rate_limited' })
  requests.forEach(({ request }, index) => {
    const sent = model.requests[index]
    expect([request?.system, request?.messages]).toEqual([sent?.system, sent?.messages])
    expect(request?.tools).toMatchObject(sent?.tools ?? [])
    expect(request?.settings).toMatchObject({ temperature: 0.5, max_output: sent?.settings.max_output })
  })
  expect(requests[1]?.response?.content.map(({ type }) => type)).toEqual(['reasoning', 'tool-call'])
  expect(requests[1]).toMatchObject({ agent: 'worker', usage: { input: 10, output: 5 }, partial_text: '' })
  expect(requests[0]).toMatchObject({ response: null, response_status: null, request_id: null })
})

test('PN21 a journal that is cut off, lacks an opening or was changed gives what is there, with the reason', async () => {
  const { events } = await sampleRun()
  const until = (type: string) => events.slice(0, events.findIndex((event) => event.type === type) + 1)
  expect(recordedRequests(until('model:begin'))).toMatchObject([{ status: 'open', proof: 'sent', response: null }])
  const unopened = events.filter(({ type }) => type !== 'session:open')
  expect(recordedRequests(unopened)).toMatchObject(
    [1, 2, 3].map((number) => ({ number, request: null, proof: expect.stringContaining('lacks the opening') })),
  )
  const changed = events.map((event) =>
    event.type === 'session:input'
      ? (JSON.parse(JSON.stringify(event).replace('What is there?', 'Who?')) as Event)
      : event,
  )
  expect(recordedRequests(changed)[0]?.proof).toContain('its hash differs')
  expect(recordedRequests([])).toEqual([])
})

test('PN21 what a resume has worked out anew is marked', async () => {
  const { events } = await sampleRun()
  const last = events.at(-1) as Event
  const cut = { ...last, seq: last.seq + 1, type: 'run:cut', data: { keys: ['session/turn/2'] } } as unknown as Event
  expect(recordedRequests([...events, cut]).map((request) => request.cut)).toEqual([undefined, undefined, true])
})

test('PN20 texts go through the redactor', async () => {
  const { events } = await sampleRun()
  const redactor = { redact: (text: string) => text.replaceAll('tree', '[tree]') }
  const requests = recordedRequests(events, { redactor: redactor as never })
  expect(JSON.stringify(requests)).not.toMatch(/[^[]tree/)
  expect(requests[2]?.proof).toBe('sent')
})
