import { APICallError, JSONParseError, LoadAPIKeyError, UnsupportedFunctionalityError } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { TroupeError } from '../errors.ts'
import type { ModelErrorInfo } from '../kernel/model.ts'
import type { ModelErrorContext } from './model-error-context.ts'
import { toRequestError, toStreamError } from './provider-error.ts'

const NOW = Date.parse('2026-11-15T12:00:00Z')
const SITE: ModelErrorContext = {
  name: 'anthropic/claude-haiku-5-5',
  variables: { key: 'ANTHROPIC_API_KEY', base: 'ANTHROPIC_BASE_URL' },
  secrets: ['a-secret-of-mine'],
  tools: true,
  images: false,
  now: () => NOW,
}

interface Answered {
  message?: string
  body?: string
  headers?: Record<string, string>
  site?: Partial<ModelErrorContext>
}

function answered(statusCode: number, { message = 'no', body = '', headers = {}, site }: Answered = {}) {
  const error = new APICallError({
    message,
    statusCode,
    responseBody: body,
    responseHeaders: headers,
    url: 'http://127.0.0.1/v1',
    requestBodyValues: {},
  })
  return toRequestError(error, { ...SITE, ...site }) as TroupeError & ModelErrorInfo
}

describe('what a provider answers', () => {
  test('MO16 a refused key names the variable to set', () => {
    for (const error of [
      answered(401),
      answered(403),
      answered(400, { body: '{"error":{"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}' }),
    ]) {
      expect(error).toMatchObject({ code: 'model_auth', retry: false, hint: 'set ANTHROPIC_API_KEY to a valid key' })
    }
  })

  test('MO17 an unknown model comes with those that are known, nearest first', () => {
    const error = answered(404, { site: { name: 'anthropic/claude-haiku-5' } })
    expect(error).toMatchObject({ code: 'unknown_model', status: 404 })
    expect(error.alternatives[0]).toBe('anthropic/claude-haiku-5-5')
  })

  test('MO18 a conversation that does not fit is told from a bad request', () => {
    for (const message of [
      'prompt is too long: 210000 tokens > 200000 maximum',
      "This model's maximum context length is 8192 tokens, however you requested 9000 tokens",
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      'the request exceeds the available context size',
    ]) {
      expect(answered(400, { message }).code).toBe('context_too_long')
    }
    expect(answered(400, { message: 'bad', body: '{"error":{"code":"context_length_exceeded"}}' }).code).toBe(
      'context_too_long',
    )
    expect(answered(413).code).toBe('context_too_long')
    expect(answered(400, { message: 'temperature: must be below 2' })).toMatchObject({
      code: 'model_failed',
      retry: false,
      status: 400,
    })
  })

  test('MO19 a limit says how long to wait, in milliseconds, seconds or as a date; an empty account is not worth a wait', () => {
    const wait = (headers: Record<string, string>) => answered(429, { headers }).retry_after_ms
    expect(wait({ 'retry-after-ms': '120.5', 'retry-after': '9' })).toBe(121)
    expect(wait({ 'retry-after': '1.5' })).toBe(1500)
    expect(wait({ 'retry-after': 'Sun, 15 Nov 2026 12:00:30 GMT' })).toBe(30_000)
    expect(wait({ 'retry-after': 'Sun, 15 Nov 2026 11:00:00 GMT' })).toBe(0)
    expect(wait({ 'retry-after': 'soon' })).toBeUndefined()
    expect(answered(429)).toMatchObject({ code: 'model_rate_limited', retry: true, status: 429 })
    expect(answered(429)).not.toHaveProperty('retry_after_ms')
    const empty = answered(429, { body: '{"error":{"code":"insufficient_quota"}}' })
    expect(empty).toMatchObject({ code: 'model_rate_limited', retry: false })
    expect(answered(529, { headers: { 'retry-after': '3' } })).toMatchObject({
      code: 'model_failed',
      retry_after_ms: 3000,
    })
  })

  test('MO20 a model that takes no tools or no images is said to be unfit for them', () => {
    const tools = [
      [400, 'registry.ollama.ai/library/gemma:2b does not support tools'],
      [404, 'No endpoints found that support tool use.'],
      [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
      [500, 'tools param requires --jinja flag'],
      [400, 'Function calling is not enabled for models/gemma-3-1b-it'],
      [400, 'tools is not supported in this model'],
    ] as const
    for (const [status, message] of tools) {
      expect(answered(status, { message }), message).toMatchObject({ code: 'model_unsupported', retry: false })
      expect(answered(status, { message, site: { tools: false } }).code).not.toBe('model_unsupported')
    }
    const blind = answered(400, { message: 'this model does not support image input', site: { images: true } })
    expect(blind.code).toBe('model_unsupported')
    const local = toRequestError(new UnsupportedFunctionalityError({ functionality: 'file URLs' }), SITE)
    expect(local).toMatchObject({ code: 'model_unsupported', usage: { input: 0 } })
  })

  test('MO21 a page under an error status means the address is wrong, a broken gateway does not', () => {
    const body = '<html><body><h1>Not here</h1></body></html>'
    expect(answered(404, { body })).toMatchObject({ code: 'model_invalid_response', retry: false, status: 404 })
    expect(answered(502, { body })).toMatchObject({ code: 'model_failed', retry: true, status: 502 })
  })

  test('MO22 what a server echoes of a key is not shown, whole answers neither', () => {
    const key = 'sk-ant-api03-abcdefghijklmnop'
    const message = `bad key ${key} and a-secret-of-mine, Bearer abcdefgh12345678 AIzaSyA1234567890abc ${'x'.repeat(900)}`
    const error = answered(401, { message, body: message })
    expect(error.message).not.toMatch(/abcdefgh|a-secret|AIzaSy/)
    expect(error.message.length).toBeLessThan(600)
    expect(error.cause).toBeUndefined()
  })
})

describe('when nothing is answered', () => {
  const refused = new APICallError({
    message: 'Cannot connect to API: ',
    cause: new AggregateError([Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })]),
    url: 'http://127.0.0.1/v1',
    requestBodyValues: {},
    isRetryable: true,
  })

  test('MO23 a connection that was never made used nothing; one that broke may have', () => {
    const never = toRequestError(refused, SITE) as TroupeError & ModelErrorInfo
    expect(never).toMatchObject({ code: 'model_failed', retry: true, usage: { input: 0, output: 0 } })
    expect(never.message).toContain('ECONNREFUSED')
    expect(never.hint).toContain('ANTHROPIC_BASE_URL')
    const reset = Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } })
    const broke = toRequestError(reset, SITE)
    expect(broke).toMatchObject({ code: 'model_failed', retry: true })
    expect(broke).not.toHaveProperty('usage')
  })

  test('MO24 errors of the packages themselves are told apart, and ours pass unchanged', () => {
    const garbled = new JSONParseError({ text: '{"half', cause: new Error('end') })
    expect(toStreamError(garbled, SITE)).toMatchObject({ code: 'model_invalid_response', retry: true })
    expect(toStreamError(garbled, SITE).message).toContain('{"half')
    expect(toRequestError(new LoadAPIKeyError({ message: 'none' }), SITE).code).toBe('model_auth')
    expect(toRequestError(new Error('odd'), SITE)).toMatchObject({ code: 'model_failed', retry: false })
    expect(toRequestError('just words', SITE).message).toContain('just words')
    const ours = new TroupeError('model_invalid_response', 'known')
    expect(toRequestError(ours, SITE)).toBe(ours)
    expect(toStreamError(ours, SITE)).toBe(ours)
  })
})
