import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TroupeError } from '../../src/errors.ts'
import type { Message, Model, ModelErrorInfo, ModelRequest } from '../../src/kernel/model.ts'
import { userMessage } from '../../src/kernel/model.ts'
import { collectChunks, modelContract, modelRequest } from '../../src/testing/model-contract.ts'
import type { MockProvider } from './mock-provider.ts'
import { startMockProvider, startRecordingProxy, startServer } from './mock-provider.ts'
import { modelAt, PROTOCOLS, providerHarness, usageFixture } from './provider-harness.ts'

let double: MockProvider
beforeAll(async () => {
  double = await startMockProvider()
})
afterAll(() => double.stop())

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const LOOK = {
  name: 'look',
  description: 'Looks at a path.',
  input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
}
const open = () => new AbortController().signal

async function streamRequest(model: Model, changes: Partial<ModelRequest> = {}, says = 'go') {
  const { chunks, thrown } = await collectChunks(model.stream(modelRequest(says, changes), open()))
  return {
    chunks,
    error: thrown as (TroupeError & ModelErrorInfo) | undefined,
    text: chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join(''),
    calls: chunks.filter((chunk) => chunk.type === 'tool-call'),
    finish: chunks.find((chunk) => chunk.type === 'finish'),
  }
}

// The double refuses fixtures with broken arguments, and its Responses protocol always ends with `completed`: these two
// are proved on written wires instead (providers-wire.test.ts).
const unsupportedByMock = (name: string, title: string) =>
  title.startsWith('M8') || (name === 'OpenAI responses' && title.startsWith('M7'))

for (const [name, protocol] of Object.entries(PROTOCOLS)) {
  modelContract(name, () => providerHarness(() => double, protocol), {
    describe,
    test: (title, run) => {
      if (!unsupportedByMock(name, title)) test(title, run)
    },
  })

  const model = () => modelAt(protocol, double.url)
  const play = (response: object, settings: object = {}) =>
    double.setFixtures([{ match: { userMessage: 'go' }, response, ...settings }])

  describe(`${name} over the wire`, () => {
    test('MO30 a tool is called, its results go back, errors as errors, and the answer follows', async () => {
      const wire = await startRecordingProxy(double)
      await double.setFixtures([
        { match: { userMessage: 'go', hasToolResult: false }, response: { toolCalls: calls } },
        { match: { hasToolResult: true }, response: { content: 'It is there.' } },
      ])
      const under = await modelAt(protocol, wire.url)
      const first = await streamRequest(under, { tools: [LOOK] })
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
      const second = await streamRequest(under, { tools: [LOOK], messages })
      expect(second.text).toBe('It is there.')
      expect(second.finish?.stop).toBe('end')
      const sent = JSON.stringify(wire.bodies[1])
      for (const words of ['found it here', 'no such path', 'Looks at a path.', 'You are under test.']) {
        expect(sent).toContain(words)
      }
      await wire.close()
    })

    test('MO31 a schema goes out, and an object comes back as the text', async () => {
      const wire = await startRecordingProxy(double)
      await play({ content: '{"verdict":"fine"}' })
      const output = {
        type: 'object',
        properties: { verdict: { type: 'string' } },
        required: ['verdict'],
        additionalProperties: false,
      }
      const { text, error } = await streamRequest(await modelAt(protocol, wire.url), { output })
      expect(error).toBeUndefined()
      expect(JSON.parse(text)).toEqual({ verdict: 'fine' })
      expect(JSON.stringify(wire.bodies[0])).toContain('"verdict"')
      await wire.close()
    })

    test('MO32 the usage of many calls adds up to what the double reported', async () => {
      const reported = Array.from({ length: 5 }, (_, n) => ({ input: 100 + n * 7, output: 3 + n }))
      const fixtures = reported.map((usage, n) => ({
        match: { userMessage: `call-${n}` },
        response: { content: 'Some words.', ...usageFixture(usage) },
      }))
      await double.setFixtures(fixtures)
      const under = await model()
      const answers = await Promise.all(reported.map((_, n) => streamRequest(under, {}, `call-${n}`)))
      expect(answers.map(({ finish }) => finish?.usage)).toEqual(
        reported.map((usage) => ({ ...usage, cache_read: 0, cache_write: 0, reasoning: 0 })),
      )
    })

    test('MO33 a rate limit carries how long to wait', async () => {
      await play({ error: { message: 'slow down' }, status: 429, retryAfter: 7 })
      const { error } = await streamRequest(await model())
      expect(error).toMatchObject({ code: 'model_rate_limited', status: 429, retry_after_ms: 7000, retry: true })
      expect(error?.message).toContain('slow down')
    })

    test('MO34 a failure of the provider may be tried again, and used nothing', async () => {
      await play({ error: { message: 'out of order' }, status: 500 })
      const { error, finish } = await streamRequest(await model())
      expect(error).toMatchObject({ code: 'model_failed', status: 500, retry: true })
      expect(finish).toBeUndefined()
      expect((await double.requests()).filter(({ path }) => !path.startsWith('/__')).length).toBe(1)
    })

    test('MO35 a connection that breaks in the middle is a cut stream, with what arrived', async () => {
      const whole = 'One two three four five six seven eight nine ten eleven twelve.'
      await play({ content: whole }, { truncateAfterChunks: 6, latency: 10 })
      const { text, error, finish } = await streamRequest(await model())
      expect(whole.startsWith(text) && text.length > 0).toBe(true)
      expect(error).toMatchObject({ code: 'stream_interrupted', retry: true })
      expect(error).not.toHaveProperty('status')
      expect(finish).toBeUndefined()
    })

    test('MO36 a connection that breaks before any answer may be tried again', async () => {
      await play({ content: 'never' }, { chaos: { disconnectRate: 1 } })
      const { error } = await streamRequest(await model())
      expect(error).toMatchObject({ code: 'model_failed', retry: true })
      expect(error).not.toHaveProperty('usage')
    })

    test('MO37 an abort while the first byte is awaited ends the call at once', async () => {
      await play({ content: 'at last' }, { streamingProfile: { ttft: 60_000 } })
      const controller = new AbortController()
      const next = (await model()).stream(modelRequest('go'), controller.signal)[Symbol.asyncIterator]().next()
      while ((await double.requests()).length === 0);
      controller.abort(new Error('enough'))
      await expect(next).rejects.toThrow('enough')
    })

    test('MO38 JSON that is none is garbage, and its first words are shown', async () => {
      await play({ content: 'never' }, { chaos: { malformedRate: 1 } })
      const { error } = await streamRequest(await model())
      expect(error).toMatchObject({ code: 'model_invalid_response' })
      expect(error?.message).toContain('{malformed json')
    })

    test('MO39 an image in a message reaches the wire', async () => {
      const wire = await startRecordingProxy(double)
      await play({ content: 'A pixel.' })
      const image = { type: 'image' as const, media_type: 'image/png', data: PIXEL }
      const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'go' }, image] }]
      const { text, error } = await streamRequest(await modelAt(protocol, wire.url), { messages })
      expect(error).toBeUndefined()
      expect(text).toBe('A pixel.')
      expect(JSON.stringify(wire.bodies[0])).toContain(PIXEL)
      await wire.close()
    })

    test('MO40 a wrong key is named by its variable and never shown', async () => {
      await play({ content: 'never' })
      const key = 'sk-wrong-key-0123456789'
      const { error } = await streamRequest(await modelAt(protocol, double.url, key))
      expect(error).toMatchObject({ code: 'model_auth', status: 401, retry: false })
      expect(error?.hint).toContain(protocol.variables.key)
      expect(JSON.stringify(error) + String(error?.cause)).not.toContain(key)
    })

    test('MO41 an endpoint that speaks HTML is named with its variable and its first words', async () => {
      for (const status of [200, 404]) {
        const site = await startServer((_, response) => {
          response.writeHead(status, { 'content-type': 'text/html' })
          response.end('<!doctype html><title>Welcome to the intranet</title>')
        })
        const { error } = await streamRequest(await modelAt(protocol, site.url))
        expect(error).toMatchObject({ code: 'model_invalid_response', retry: false })
        expect(error?.message).toContain('Welcome to the intranet')
        expect(error?.hint).toContain(protocol.variables.base)
        await site.close()
      }
    })

    test('MO42 nobody at the address may be tried again, and used nothing', async () => {
      const gone = await startServer(() => {})
      await gone.close()
      const { error } = await streamRequest(await modelAt(protocol, gone.url))
      expect(error).toMatchObject({ code: 'model_failed', retry: true, usage: { input: 0, output: 0 } })
      expect(error?.message).toContain('ECONNREFUSED')
    })
  })
}

const calls = [
  { name: 'look', arguments: '{"path":"a"}' },
  { name: 'look', arguments: '{"path":"b"}' },
]
