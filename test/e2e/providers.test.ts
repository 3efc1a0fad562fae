import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TroupeError } from '../../src/errors.ts'
import type { Message, Model, ModelErrorInfo, ModelRequest } from '../../src/kernel/model.ts'
import { userMessage } from '../../src/kernel/model.ts'
import { collectChunks, modelContract, modelRequest } from '../../src/testing/model-contract.ts'
import type { MockProvider } from './mock-provider.ts'
import { startMockProvider, startRecordingProxy, startServer } from './mock-provider.ts'
import { loadModelAt, PROTOCOLS, providerHarness, usageFixture } from './provider-harness.ts'

let mock: MockProvider
beforeAll(async () => {
  mock = await startMockProvider()
})
afterAll(() => mock.stop())

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const LOOK = {
  name: 'look',
  description: 'Looks at a path.',
  input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
}
const neverAborted = () => new AbortController().signal

async function streamRequest(model: Model, changes: Partial<ModelRequest> = {}, message = 'go') {
  const { chunks, thrown } = await collectChunks(model.stream(modelRequest(message, changes), neverAborted()))
  return {
    chunks,
    error: thrown as (TroupeError & ModelErrorInfo) | undefined,
    text: chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join(''),
    calls: chunks.filter((chunk) => chunk.type === 'tool-call'),
    finish: chunks.find((chunk) => chunk.type === 'finish'),
  }
}

// The mock rejects fixtures with invalid arguments, and its Responses protocol always ends with `completed`: these cases
// are in provider-responses.test.ts.
const unsupportedByMock = (name: string, title: string) =>
  title.startsWith('M8') || (name === 'OpenAI responses' && title.startsWith('M7'))

for (const [name, protocol] of Object.entries(PROTOCOLS)) {
  modelContract(name, () => providerHarness(() => mock, protocol), {
    describe,
    test: (title, run) => {
      if (!unsupportedByMock(name, title)) test(title, run)
    },
  })

  const model = () => loadModelAt(protocol, mock.url)
  const setResponse = (response: object, settings: object = {}) =>
    mock.setFixtures([{ match: { userMessage: 'go' }, response, ...settings }])

  describe(`${name} over HTTP`, () => {
    test('MO2 tool results, including errors, are sent back, and the response follows', async () => {
      const proxy = await startRecordingProxy(mock)
      await mock.setFixtures([
        { match: { userMessage: 'go', hasToolResult: false }, response: { toolCalls: calls } },
        { match: { hasToolResult: true }, response: { content: 'It is there.' } },
      ])
      const tested = await loadModelAt(protocol, proxy.url)
      const first = await streamRequest(tested, { tools: [LOOK] })
      expect(first.calls.map((call) => call.input)).toEqual([{ path: 'a' }, { path: 'b' }])
      expect(first.finish?.stop).toBe('tool_calls')
      const messages: Message[] = [
        userMessage('go'),
        { role: 'assistant', content: first.calls },
        {
          role: 'tool',
          content: first.calls.map(({ id }, index) => ({
            type: 'tool-result',
            id,
            name: 'look',
            text: index === 0 ? 'found it here' : 'no such path',
            is_error: index === 1,
          })),
        },
      ]
      const second = await streamRequest(tested, { tools: [LOOK], messages })
      expect(second.text).toBe('It is there.')
      expect(second.finish?.stop).toBe('end')
      const sent = JSON.stringify(proxy.bodies[1])
      for (const text of ['found it here', 'no such path', 'Looks at a path.', 'You are under test.']) {
        expect(sent).toContain(text)
      }
      await proxy.close()
    })

    test('MO3 an output schema is sent, and the object is returned as text', async () => {
      const proxy = await startRecordingProxy(mock)
      await setResponse({ content: '{"verdict":"fine"}' })
      const output = {
        type: 'object',
        properties: { verdict: { type: 'string' } },
        required: ['verdict'],
        additionalProperties: false,
      }
      const { text, error } = await streamRequest(await loadModelAt(protocol, proxy.url), { output })
      expect(error).toBeUndefined()
      expect(JSON.parse(text)).toEqual({ verdict: 'fine' })
      expect(JSON.stringify(proxy.bodies[0])).toContain('"verdict"')
      await proxy.close()
    })

    test('MO7 the usage of concurrent requests equals the reported usage', async () => {
      const reported = Array.from({ length: 5 }, (_, n) => ({ input: 100 + n * 7, output: 3 + n }))
      const fixtures = reported.map((usage, n) => ({
        match: { userMessage: `call-${n}` },
        response: { content: 'Some words.', ...usageFixture(usage) },
      }))
      await mock.setFixtures(fixtures)
      const tested = await model()
      const responses = await Promise.all(reported.map((_, n) => streamRequest(tested, {}, `call-${n}`)))
      expect(responses.map(({ finish }) => finish?.usage)).toEqual(
        reported.map((usage) => ({ ...usage, cache_read: 0, cache_write: 0, reasoning: 0 })),
      )
    })

    test('MO19 a rate limit error has retry_after_ms', async () => {
      await setResponse({ error: { message: 'slow down' }, status: 429, retryAfter: 7 })
      const { error } = await streamRequest(await model())
      expect(error).toMatchObject({ code: 'model_rate_limited', status: 429, retry_after_ms: 7000, retry: true })
      expect(error?.message).toContain('slow down')
    })

    test('MO34 a provider failure is retryable and reports no usage', async () => {
      await setResponse({ error: { message: 'out of order' }, status: 500 })
      const { error, finish } = await streamRequest(await model())
      expect(error).toMatchObject({ code: 'model_failed', status: 500, retry: true })
      expect(finish).toBeUndefined()
      expect((await mock.requests()).filter(({ path }) => !path.startsWith('/__')).length).toBe(1)
    })

    test('MO11 a connection that breaks mid-stream is stream_interrupted, with the partial text', async () => {
      const fullText = 'One two three four five six seven eight nine ten eleven twelve.'
      await setResponse({ content: fullText }, { truncateAfterChunks: 6, latency: 10 })
      const { text, error, finish } = await streamRequest(await model())
      expect(fullText.startsWith(text) && text.length > 0).toBe(true)
      expect(error).toMatchObject({ code: 'stream_interrupted', retry: true })
      expect(error).not.toHaveProperty('status')
      expect(finish).toBeUndefined()
    })

    test('MO65 a connection that breaks before the response is retryable', async () => {
      await setResponse({ content: 'never' }, { chaos: { disconnectRate: 1 } })
      const { error } = await streamRequest(await model())
      expect(error).toMatchObject({ code: 'model_failed', retry: true })
      expect(error).not.toHaveProperty('usage')
    })

    test('M4 an abort before the first byte ends the request promptly', async () => {
      await setResponse({ content: 'late' }, { streamingProfile: { ttft: 60_000 } })
      const controller = new AbortController()
      const next = (await model()).stream(modelRequest('go'), controller.signal)[Symbol.asyncIterator]().next()
      while ((await mock.requests()).length === 0);
      controller.abort(new Error('enough'))
      await expect(next).rejects.toThrow('enough')
    })

    test('MO26 invalid JSON is model_invalid_response and is quoted in the message', async () => {
      await setResponse({ content: 'never' }, { chaos: { malformedRate: 1 } })
      const { error } = await streamRequest(await model())
      expect(error).toMatchObject({ code: 'model_invalid_response' })
      expect(error?.message).toContain('{malformed json')
    })

    test('MO1 an image in a message is sent', async () => {
      const proxy = await startRecordingProxy(mock)
      await setResponse({ content: 'A pixel.' })
      const image = { type: 'file' as const, media_type: 'image/png', data: PIXEL }
      const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'go' }, image] }]
      const { text, error } = await streamRequest(await loadModelAt(protocol, proxy.url), { messages })
      expect(error).toBeUndefined()
      expect(text).toBe('A pixel.')
      expect(JSON.stringify(proxy.bodies[0])).toContain(PIXEL)
      await proxy.close()
    })

    test('MO70 a PDF in a message is sent with its name, where the protocol has one', async () => {
      const proxy = await startRecordingProxy(mock)
      await setResponse({ content: 'A paper.' })
      const data = Buffer.from('%PDF-1.7').toString('base64')
      const file = { type: 'file' as const, name: 'paper.pdf', media_type: 'application/pdf', data }
      const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'go' }, file] }]
      const { text, error } = await streamRequest(await loadModelAt(protocol, proxy.url), { messages })
      expect(error).toBeUndefined()
      expect(text).toBe('A paper.')
      const body = JSON.stringify(proxy.bodies[0])
      expect(body).toContain(data)
      expect(body).toContain('application/pdf')
      if (name !== 'Gemini') expect(body).toContain('paper.pdf')
      await proxy.close()
    })

    test('MO16 MO22 an authentication error names the variable of the key and never shows the key', async () => {
      await setResponse({ content: 'never' })
      const key = 'sk-wrong-key-0123456789'
      const { error } = await streamRequest(await loadModelAt(protocol, mock.url, key))
      expect(error).toMatchObject({ code: 'model_auth', status: 401, retry: false })
      expect(error?.hint).toContain(protocol.variables.key)
      expect(JSON.stringify(error) + String(error?.cause)).not.toContain(key)
    })

    test('MO21 an HTML response is quoted, and the error names the variable of the base URL', async () => {
      for (const status of [200, 404]) {
        const server = await startServer((_, response) => {
          response.writeHead(status, { 'content-type': 'text/html' })
          response.end('<!doctype html><title>Welcome to the intranet</title>')
        })
        const { error } = await streamRequest(await loadModelAt(protocol, server.url))
        expect(error).toMatchObject({ code: 'model_invalid_response', retry: false })
        expect(error?.message).toContain('Welcome to the intranet')
        expect(error?.hint).toContain(protocol.variables.base)
        await server.close()
      }
    })

    test('MO23 MO65 a refused connection is retryable and reports no usage', async () => {
      const closed = await startServer(() => {})
      await closed.close()
      const { error } = await streamRequest(await loadModelAt(protocol, closed.url))
      expect(error).toMatchObject({ code: 'model_failed', retry: true, usage: { input: 0, output: 0 } })
      expect(error?.message).toContain('ECONNREFUSED')
    })
  })
}

const calls = [
  { name: 'look', arguments: '{"path":"a"}' },
  { name: 'look', arguments: '{"path":"b"}' },
]
