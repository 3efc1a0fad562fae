import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { verifyJournal } from '../../src/audit/verify-journal.ts'
import type { Protocol } from '../e2e/provider-harness.ts'
import { PROTOCOLS } from '../e2e/provider-harness.ts'
import { eventData } from '../support/manual-doubles.ts'
import { runToEnd } from '../support/test-troupe.ts'
import type { Respond } from './provider-server.ts'
import { encode, encodeError, encodeStart, startProviderServer, troupeAt } from './provider-server.ts'

async function openTroupe(name: string, options: { idle_timeout_ms?: number; output?: number } = {}) {
  const server = await startProviderServer()
  onTestFinished(() => server.close())
  const troupe = await troupeAt(PROTOCOLS[name] as Protocol, server, options)
  onTestFinished(() => troupe.close())
  return async (respond: Respond) => {
    Object.assign(server, { respond, requests: 0, closed: 0 })
    const result = await runToEnd(troupe, 'task', { agent: 'worker', instruction: 'go' })
    const events = await troupe.events(result.run_id).all()
    expect(verifyJournal(events)).toEqual([])
    return { result, server, events, response: (result.output as { response?: string }).response }
  }
}

const write = (response: ServerResponse, events: readonly string[]) => void response.write(events.join(''))
const answer = (name: string, response: ServerResponse) =>
  void response.end(encode(name, { text: 'the answer' }).join(''))
const start = (name: string) => encodeStart(name, { text: 'half' }, 'half')

describe.each(Object.keys(PROTOCOLS))('%s', (name) => {
  test('MO81 a passing failure within a stream is retried, a wrong request is not', async () => {
    const run = await openTroupe(name)
    for (const code of ['server_error', 'rate_limit_exceeded', 'overloaded_error']) {
      const { result, server, events, response } = await run((stream, n) => {
        if (n > 1) return answer(name, stream)
        write(stream, start(name))
        stream.end(encodeError(name, code))
      })
      expect([code, result.status, response, server.requests]).toEqual([code, 'completed', 'the answer', 2])
      const [failed] = eventData(events, 'model:error')
      const expected = code === 'rate_limit_exceeded' ? 'model_rate_limited' : 'model_failed'
      expect(failed).toMatchObject({ error: { code: expected, retry: true }, partial_text: 'half', estimated: true })
    }
    const { result, server } = await run((stream) => {
      write(stream, start(name))
      stream.end(encodeError(name, 'invalid_request_error'))
    })
    expect([result.status, result.error?.code, server.requests]).toEqual(['failed', 'model_failed', 1])
  })

  test('U21 a silent stall is retried, and counts what it can have cost', async () => {
    const run = await openTroupe(name, { idle_timeout_ms: 500 })
    const { result, server, events, response } = await run((stream, n) =>
      n > 1 ? answer(name, stream) : write(stream, start(name)),
    )
    expect([result.status, response, server.requests]).toEqual(['completed', 'the answer', 2])
    const [failed] = eventData(events, 'model:error')
    expect(failed).toMatchObject({ error: { code: 'stream_interrupted' }, partial_text: 'half', estimated: true })
    const counted = (failed?.usage.input ?? 0) + (failed?.usage.output ?? 0)
    expect(counted).toBeLessThan((eventData(events, 'model:begin')[0]?.reserved.tokens ?? 0) / 2)
  })

  test('U46 usage that cannot be true is refused and estimated', async () => {
    const run = await openTroupe(name)
    const usage = { input: 120, cache_read: 0, cache_write: 0, output: 4343, reasoning: 0 }
    for (const tokens of ['-5', '1000000000000000', '1.5']) {
      const body = encode(name, { text: 'the answer', usage }).join('').replaceAll('4343', tokens)
      const { result, server, events, response } = await run((stream) => void stream.end(body))
      expect([tokens, result.status, response, server.requests]).toEqual([tokens, 'completed', 'the answer', 1])
      expect(eventData(events, 'model:end')).toMatchObject([{ estimated: true, refused_usage: `output: ${tokens}` }])
      const [begin] = eventData(events, 'model:begin')
      expect(result.usage.output + result.usage.input).toBe(begin?.reserved.tokens)
    }
  })

  test('U33 a response without end is cut off, text and tool input alike', async () => {
    const run = await openTroupe(name, { output: 200 })
    const piece = 'and so on '.repeat(10)
    const endless = [{ text: piece }, { call: { name: 'look', arguments: `{"path":"${piece}` } }]
    // Gemini sends the input of a call whole.
    for (const response of name === 'Gemini' ? endless.slice(0, 1) : endless) {
      const { result, server, events } = await run(async (stream) => {
        const pieces = encodeStart(name, response, 'and so on')
        write(stream, pieces)
        while (!stream.closed) {
          stream.write(pieces.at(-1) ?? '')
          await wait(0)
        }
      })
      const [end] = eventData(events, 'model:end')
      expect(end).toMatchObject({ stop: 'length', cut_off: true, estimated: true })
      await expect.poll(() => server.closed).toBe(server.requests)
      const text = end?.message.content.find((part) => part.type === 'text')
      if (response.text) expect([result.stop_reason, text?.text.length]).toEqual(['partial', 8000])
    }
  })
})

test('U21 a server that sends signs of life is waited for', async () => {
  const run = await openTroupe('Anthropic', { idle_timeout_ms: 1500 })
  const { server, response } = await run(async (stream) => {
    write(stream, start('Anthropic'))
    for (let n = 0; n < 40; n++) {
      await wait(50)
      stream.write(': still here\n\n')
    }
    answer('Anthropic', stream)
  })
  expect([server.requests, response]).toEqual([1, expect.stringContaining('the answer')])
})

test('U21 an idle timeout that is no number of milliseconds is refused', async () => {
  await expect(openTroupe('Anthropic', { idle_timeout_ms: 0 })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('`models.idle_timeout_ms` is 0'),
  })
})
