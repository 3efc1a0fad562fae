import { APICallError, JSONParseError, LoadAPIKeyError, UnsupportedFunctionalityError } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { TroupeError } from '../errors.ts'
import type { ModelErrorInfo } from '../kernel/model.ts'
import type { ModelErrorContext } from './model-error-context.ts'
import { redactedExcerpt } from './model-error-context.ts'
import { toRequestError, toStreamError } from './provider-error.ts'

const NOW = Date.parse('2026-11-15T12:00:00Z')
const CONTEXT: ModelErrorContext = {
  name: 'anthropic/claude-haiku-5-5',
  variables: { key: 'ANTHROPIC_API_KEY', base: 'ANTHROPIC_BASE_URL' },
  secrets: ['a-secret-of-mine'],
  tools: true,
  files: false,
  now: () => NOW,
}

interface ErrorResponse {
  message?: string
  body?: string
  headers?: Record<string, string>
  context?: Partial<ModelErrorContext>
}

function responseError(statusCode: number, { message = 'no', body = '', headers = {}, context }: ErrorResponse = {}) {
  const error = new APICallError({
    message,
    statusCode,
    responseBody: body,
    responseHeaders: headers,
    url: 'http://127.0.0.1/v1',
    requestBodyValues: {},
  })
  return toRequestError(error, { ...CONTEXT, ...context }) as TroupeError & ModelErrorInfo
}

describe('error responses', () => {
  test('MO16 a rejected key is model_auth and names the variable to set', () => {
    for (const error of [
      responseError(401),
      responseError(403),
      responseError(400, { body: '{"error":{"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}' }),
    ]) {
      expect(error).toMatchObject({
        code: 'model_auth',
        retry: false,
        hint: 'set ANTHROPIC_API_KEY to a valid API key',
      })
    }
  })

  test('MO17 an unknown model is unknown_model with the known models, nearest first', () => {
    const error = responseError(404, { context: { name: 'anthropic/claude-haiku-5' } })
    expect(error).toMatchObject({ code: 'unknown_model', status: 404 })
    expect(error.alternatives[0]).toBe('anthropic/claude-haiku-5-5')
  })

  test('MO18 a too long conversation is context_too_long; any other bad request is model_failed without retry', () => {
    for (const message of [
      'prompt is too long: 210000 tokens > 200000 maximum',
      "This model's maximum context length is 8192 tokens, however you requested 9000 tokens",
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      'the request exceeds the available context size',
    ]) {
      expect(responseError(400, { message }).code).toBe('context_too_long')
    }
    expect(responseError(400, { message: 'bad', body: '{"error":{"code":"context_length_exceeded"}}' }).code).toBe(
      'context_too_long',
    )
    expect(responseError(413).code).toBe('context_too_long')
    expect(responseError(400, { message: 'temperature: must be below 2' })).toMatchObject({
      code: 'model_failed',
      retry: false,
      status: 400,
    })
  })

  test('MO19 a rate limit carries retry_after_ms from milliseconds, seconds or a date; a used-up quota is not retried', () => {
    const retryAfter = (headers: Record<string, string>) => responseError(429, { headers }).retry_after_ms
    expect(retryAfter({ 'retry-after-ms': '120.5', 'retry-after': '9' })).toBe(121)
    expect(retryAfter({ 'retry-after': '1.5' })).toBe(1500)
    expect(retryAfter({ 'retry-after': 'Sun, 15 Nov 2026 12:00:30 GMT' })).toBe(30_000)
    expect(retryAfter({ 'retry-after': 'Sun, 15 Nov 2026 11:00:00 GMT' })).toBe(0)
    expect(retryAfter({ 'retry-after': 'soon' })).toBeUndefined()
    expect(responseError(429)).toMatchObject({ code: 'model_rate_limited', retry: true, status: 429 })
    expect(responseError(429)).not.toHaveProperty('retry_after_ms')
    const empty = responseError(429, { body: '{"error":{"code":"insufficient_quota"}}' })
    expect(empty).toMatchObject({ code: 'model_rate_limited', retry: false })
    expect(responseError(529, { headers: { 'retry-after': '3' } })).toMatchObject({
      code: 'model_failed',
      retry_after_ms: 3000,
    })
  })

  test('MO19 a wait of a minute or more is named with its end, in the time of the machine', () => {
    const hint = (seconds: number, status = 429) =>
      responseError(status, { headers: { 'retry-after': `${seconds}` } }).hint
    expect(hint(59)).toBe('wait, or lower `limits.concurrency`')
    const inAnHour = new Date(NOW + 3600_000)
    const clock = [inAnHour.getHours(), inAnHour.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':')
    const wait = `the provider asks to wait 60 min, until ${clock}; or choose another \`model\``
    expect(hint(3600)).toBe(wait)
    expect(hint(3600, 529)).toBe(wait)
    expect(hint(3 * 86_400)).toMatch(/^the provider asks to wait 4320 min, until \d{4}-\d\d-\d\d \d\d:\d\d; /)
    const empty = responseError(429, {
      body: '{"error":{"code":"insufficient_quota"}}',
      headers: { 'retry-after': '3600' },
    })
    expect(empty.hint).toContain('billing page')
  })

  test('MO72 a model without support for tools or images is model_unsupported', () => {
    const tools = [
      [400, 'registry.ollama.ai/library/gemma:2b does not support tools'],
      [404, 'No endpoints found that support tool use.'],
      [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
      [500, 'tools param requires --jinja flag'],
      [400, 'Function calling is not enabled for models/gemma-3-1b-it'],
      [400, 'tools is not supported in this model'],
    ] as const
    for (const [status, message] of tools) {
      expect(responseError(status, { message }), message).toMatchObject({ code: 'model_unsupported', retry: false })
      expect(responseError(status, { message, context: { tools: false } }).code).not.toBe('model_unsupported')
    }
    const noImages = responseError(400, {
      message: 'this model does not support image input',
      context: { files: true },
    })
    expect(noImages.code).toBe('model_unsupported')
    const local = toRequestError(new UnsupportedFunctionalityError({ functionality: 'file URLs' }), CONTEXT)
    expect(local).toMatchObject({ code: 'model_unsupported', usage: { input: 0 } })
  })

  test.each([
    [
      "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
      { feature: 'output' },
    ],
    ['This response_format type is unavailable now', { feature: 'output' }],
    ['output_format: Extra inputs are not permitted', { feature: 'output' }],
    ['json mode cannot be combined with tool/function calling', { feature: 'output' }],
    ['gemma:2b does not support tools', { feature: 'tools' }],
    ["Unsupported value: 'temperature' does not support 0.3 with this model.", { feature: 'temperature' }],
    ["Unsupported parameter: 'reasoning_effort' is not supported with this model.", { feature: 'effort' }],
    ['System role not supported', { feature: 'system' }],
    ['this model does not support image input', { feature: 'result_files' }],
    ['Invalid content type. image_url is only supported by certain models.', { feature: 'result_files' }],
    ['/models/a is not a multimodal model', { feature: 'result_files' }],
    ['messages[3].content must be a string', { feature: 'result_files' }],
    ['image input is not supported - hint: you may need to provide the mmproj', { feature: 'result_files' }],
    [
      "This model's maximum context length is 4096 tokens. However, you requested 16504 tokens (120 in the messages, 16384 in the completion).",
      { feature: 'window', tokens: 4096, input: 120 },
    ],
    [
      'max_tokens is too large: 16384. This model supports at most 4096 completion tokens',
      { feature: 'max_output', max: 4096 },
    ],
    [
      'max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for claude-opus-4-5-20251101',
      { feature: 'max_output', max: 64000 },
    ],
    [
      'Unable to submit request because it has a maxOutputTokens value of 655360 but the supported range is from 1 (inclusive) to 8193 (exclusive). Update the value and try again.',
      { feature: 'max_output', max: 8192 },
    ],
    ['Invalid max_tokens value, the valid range of max_tokens is [1, 8192]', { feature: 'max_output', max: 8192 }],
    [
      'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again',
      { feature: 'window', tokens: 200000, input: 190000 },
    ],
    [
      'This endpoint\'s maximum context length is 131072 tokens. However, you requested about 138956 tokens (7884 of text input, 131072 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
      { feature: 'window', tokens: 131072, input: 7884 },
    ],
    [
      "This endpoint's maximum context length is 204800 tokens. However, you requested about 205432 tokens (81684 of text input, 3748 of tool input, 120000 in the output). Please reduce the length of either one",
      { feature: 'window', tokens: 204800, input: 85432 },
    ],
  ])('MO72 %s', (message, refused) => {
    const settings = { temperature: 0.3, effort: 'low' as const }
    const everything = { tools: true, output: true, settings, system: true, result_files: true }
    expect(responseError(400, { message, context: everything })).toMatchObject({ code: 'model_unsupported', refused })
    const nothing = {
      tools: false,
      output: false,
      temperature: false,
      effort: false,
      system: false,
      result_files: false,
    }
    if (refused.feature !== 'max_output' && refused.feature !== 'window')
      expect(responseError(400, { message, context: nothing })).not.toHaveProperty('refused')
  })

  test.each([
    "This model's maximum context length is 4096 tokens. However, you requested 4200 tokens (4100 in the messages, 100 in the completion).",
    'This endpoint\'s maximum context length is 16384 tokens. However, you requested about 94307 tokens (94307 of text input). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
    'input length and `max_tokens` exceed context limit: 199990 + 20000 > 200000, decrease input length or `max_tokens` and try again',
  ])('MO72 a conversation that does not fit is context_too_long, whatever output is asked for: %s', (message) => {
    expect(responseError(400, { message })).toMatchObject({ code: 'context_too_long' })
  })

  test('MO21 a web page with 404 is a wrong base URL; with 502 it is a gateway error that may be retried', () => {
    const body = '<html><body><h1>Not here</h1></body></html>'
    expect(responseError(404, { body })).toMatchObject({ code: 'model_invalid_response', retry: false, status: 404 })
    expect(responseError(502, { body })).toMatchObject({ code: 'model_failed', retry: true, status: 502 })
  })

  test('MO22 echoed keys are redacted, long messages truncated, and no cause is attached', () => {
    const key = 'sk-ant-api03-abcdefghijklmnop'
    const message = `bad key ${key} and a-secret-of-mine, Bearer abcdefgh12345678 AIzaSyA1234567890abc ${'x'.repeat(900)}`
    const error = responseError(401, { message, body: message })
    expect(error.message).not.toMatch(/abcdefgh|a-secret|AIzaSy/)
    expect(error.message.length).toBeLessThan(600)
    expect(error.cause).toBeUndefined()
  })

  test.each([
    ['base64', Buffer.from('{"key":"a-secret/of+mine"}').toString('base64')],
    ['URL-safe base64', Buffer.from('x:a-secret/of+mine').toString('base64url')],
    ['hexadecimal', Buffer.from('a-secret/of+mine').toString('hex')],
    ['percent encoding', encodeURIComponent('a-secret/of+mine')],
    ['JSON escapes', 'a-secret\\/of+mine'],
  ])('MO22 a key that is echoed in %s is redacted', (_encoding, echoed) => {
    const excerpt = redactedExcerpt(`invalid request: ${echoed}; retry`, ['a-secret/of+mine'])
    expect(excerpt).toMatch(/^invalid request: \S{0,12}\[key\]\S{0,4}; retry$/)
    expect(redactedExcerpt(`invalid request: ${echoed}; retry`, ['another-secret/of+mine'])).toContain(echoed)
  })
})

describe('errors without a response', () => {
  const refused = new APICallError({
    message: 'Cannot connect to API: ',
    cause: new AggregateError([Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })]),
    url: 'http://127.0.0.1/v1',
    requestBodyValues: {},
    isRetryable: true,
  })

  test('MO23 a refused connection has zero usage; a lost connection has unknown usage', () => {
    const unsent = toRequestError(refused, CONTEXT) as TroupeError & ModelErrorInfo
    expect(unsent).toMatchObject({ code: 'model_failed', retry: true, usage: { input: 0, output: 0 } })
    expect(unsent.message).toContain('ECONNREFUSED')
    expect(unsent.hint).toContain('ANTHROPIC_BASE_URL')
    const reset = Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } })
    const lost = toRequestError(reset, CONTEXT)
    expect(lost).toMatchObject({ code: 'model_failed', retry: true })
    expect(lost).not.toHaveProperty('usage')
  })

  test('errors of the provider packages are classified; a TroupeError passes unchanged', () => {
    const parseError = new JSONParseError({ text: '{"half', cause: new Error('end') })
    expect(toStreamError(parseError, CONTEXT)).toMatchObject({ code: 'model_invalid_response', retry: true })
    expect(toStreamError(parseError, CONTEXT).message).toContain('{"half')
    expect(toRequestError(new LoadAPIKeyError({ message: 'none' }), CONTEXT).code).toBe('model_auth')
    expect(toRequestError(new Error('odd'), CONTEXT)).toMatchObject({ code: 'model_failed', retry: false })
    expect(toRequestError('just a string', CONTEXT).message).toContain('just a string')
    const troupeError = new TroupeError('model_invalid_response', 'known')
    expect(toRequestError(troupeError, CONTEXT)).toBe(troupeError)
    expect(toStreamError(troupeError, CONTEXT)).toBe(troupeError)
  })
})
