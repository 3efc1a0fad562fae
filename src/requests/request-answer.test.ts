import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../test/support/test-troupe.ts'
import { TroupeError } from '../errors.ts'
import { definePattern } from '../kernel/pattern.ts'
import type { AnswerRequest, PerformRequest } from '../kernel/session-request.ts'
import type { SessionResult } from '../kernel/session-result.ts'
import { toJsonSchema } from '../schema/schema.ts'
import * as zod from '../schema/zod.ts'
import { requestAnswer } from './request-answer.ts'

const shape = {
  fields: { advice: 'text', confidence: 'confidence' },
  rules: ['"confidence" is from 0 to 1.'],
  example: { advice: 'what to do, in one sentence', confidence: 0.5 },
} as const
const FORM =
  'Advise.\nReply with one JSON object and nothing else.\n"confidence" is from 0 to 1.\nFor example:\n' +
  '{"advice":"what to do, in one sentence","confidence":0.5}'
const advisor = agent('advisor')
const ADVICE = '{"advice":"Wait.","confidence":"90 %"}'

interface Performed {
  key: string
  model: string | undefined
  request: PerformRequest
}

type Reply = string | Partial<SessionResult> | TroupeError

/** A context whose sessions end like this, one after the other. */
function sessionsWith(...replies: Reply[]) {
  const performed: Performed[] = []
  const lookups: unknown[] = []
  let cached: SessionResult | undefined
  const context: Parameters<typeof requestAnswer>[0] = {
    async perform(performer, request, { key }) {
      performed.push({ key, model: performer?.model, request })
      const reply = replies.shift() ?? 'no reply is left'
      if (reply instanceof TroupeError) throw reply
      return endedSession(typeof reply === 'string' ? { text: reply } : reply, performed.length)
    },
    async cachedResult(...lookup) {
      lookups.push(lookup)
      return cached
    },
  }
  const request = (options: Partial<AnswerRequest<typeof shape>> = {}) =>
    requestAnswer(context, { key: 'advice', agent: advisor, prompt: 'Advise.', answer: shape, ...options })
  return {
    performed,
    lookups,
    request,
    keys: () => performed.map(({ key }) => key),
    keep: (text: string) => {
      cached = endedSession({ text }, 0)
    },
  }
}

function endedSession(end: Partial<SessionResult>, ordinal: number): SessionResult {
  const usage = { input: 10, output: 1, cache_read: 0, cache_write: 0, reasoning: 0, calls: 1 }
  const ended = { session_id: `s${ordinal}`, agent: 'advisor', text: '', turn_count: 1, usage, ...end }
  const isFailed = end.error !== undefined && end.error !== null
  return isFailed
    ? { status: 'failed', stop_reason: 'failed', ...ended, error: ended.error ?? null }
    : { status: 'completed', stop_reason: 'completed', ...ended, error: null }
}

const failure = (code: TroupeError['code']) => ({ error: new TroupeError(code, 'it failed').toJSON() })

describe('the request', () => {
  test('RQ1 has rules and example after the prompt, and the strict schema', async () => {
    const { performed, request } = sessionsWith(ADVICE)
    const { value, tokens } = await request()
    expect(value).toEqual({ advice: 'Wait.', confidence: 0.9 })
    expect(tokens).toBe(11)
    const [{ request: sent } = {}] = performed
    expect(sent?.instruction).toBe(FORM)
    expect(toJsonSchema(sent?.output ?? {})).toEqual({
      type: 'object',
      properties: { advice: { type: 'string' }, confidence: { type: 'number' } },
      required: ['advice', 'confidence'],
      additionalProperties: false,
    })
  })

  test('RQ1 does not repeat the form where the prompt has the example, or the session goes on', async () => {
    const { performed, request } = sessionsWith(ADVICE, ADVICE)
    const prompt = `For example ${JSON.stringify(shape.example)}. Advise.`
    await request({ prompt })
    await request({ resume: 's1' })
    expect(performed.map(({ request: { instruction } }) => instruction)).toEqual([prompt, 'Advise.'])
  })

  test('RQ1 asks for a text without `answer`', async () => {
    const { performed, request } = sessionsWith('Wait.')
    expect(await request({ answer: undefined })).toMatchObject({ text: 'Wait.', error: null })
    expect(performed[0]?.request).toEqual({ instruction: 'Advise.' })
  })
})

describe('further requests', () => {
  test('RQ5 a model without structured output gets the same prompt without the schema, once', async () => {
    const { performed, keys, request } = sessionsWith(failure('model_unsupported'), `Well: ${ADVICE}`)
    const answer = await request({ allowText: true, cache_key: 'k', keys: { text: 'words' } })
    expect(answer).toMatchObject({ value: { advice: 'Wait.' }, error: null, tokens: 22 })
    expect(keys()).toEqual(['advice', 'words'])
    expect(performed[1]?.request).toEqual({ instruction: FORM })
    const again = sessionsWith(failure('model_unsupported'), failure('model_unsupported'))
    expect((await again.request()).error?.code).toBe('model_unsupported')
    expect(again.keys()).toEqual(['advice', 'advice/text'])
    const preferred = sessionsWith(failure('model_unsupported'), ADVICE)
    await preferred.request({ preferredModel: 'fast' })
    expect(preferred.performed.map(({ model }) => model)).toEqual(['fast', 'fast'])
  })

  test.each(['unknown_model', 'no_model'] as const)(
    'RQ6 without the preferred model (%s) its own is asked',
    async (code) => {
      const { performed, request } = sessionsWith(failure(code), ADVICE)
      expect((await request({ preferredModel: 'fast' })).value?.advice).toBe('Wait.')
      expect(performed.map(({ key, model }) => [key, model])).toEqual([
        ['advice', 'fast'],
        ['advice/fallback', undefined],
      ])
      const own = sessionsWith(failure(code))
      expect((await own.request()).error?.code).toBe(code)
      expect(own.keys()).toEqual(['advice'])
    },
  )

  test('RQ7 an answer that cannot be used is corrected once, in its session', async () => {
    const { performed, request } = sessionsWith('{"advice":""}', '{"advice":""}', ADVICE)
    const check = () => 'Give some advice.'
    const answer = await request({ check, internal: true, keys: { correction: 'again' } })
    expect(answer).toMatchObject({ session_id: 's2', first: { session_id: 's1', value: { advice: '' } } })
    expect(performed).toHaveLength(2)
    const { output, ...again } = performed[1]?.request ?? {}
    expect(again).toEqual({ instruction: 'Give some advice.', resume: 's1', internal: true })
    expect(output).toBe(performed[0]?.request.output)
  })

  test('RQ7 neither a good answer nor a failed session is corrected', async () => {
    const { keys, request } = sessionsWith(ADVICE, failure('model_failed'))
    expect((await request({ check: async () => undefined })).first).toBeUndefined()
    await request({ check: () => 'Give some advice.' })
    expect(keys()).toEqual(['advice', 'advice'])
  })
})

describe('failures', () => {
  test('RQ8 a failure is in the answer, also of a session that cannot be opened', async () => {
    const { request } = sessionsWith(failure('model_failed'), new TroupeError('limit_reached', 'too deep'))
    expect(await request()).toMatchObject({ status: 'failed', error: { code: 'model_failed' } })
    const unopened = await request()
    expect(unopened).toMatchObject({ session_id: '', agent: 'advisor', error: { code: 'limit_reached' }, tokens: 0 })
    expect(unopened.value).toBeUndefined()
  })

  test('RQ8 what has to end the execution is thrown', async () => {
    const { request } = sessionsWith(new TroupeError('lease_lost', 'another process has the run'))
    await expect(request()).rejects.toThrow('another process has the run')
  })

  test('RQ8 an answer without any field is a failure, unless text is allowed', async () => {
    const { request } = sessionsWith({ text: 'I would wait.' }, { text: 'I would wait.' })
    expect((await request()).error).toMatchObject({ code: 'model_invalid_response' })
    expect(await request({ allowText: true })).toMatchObject({ text: 'I would wait.', error: null })
  })
})

test('RQ9 an earlier answer is read without a request', async () => {
  const { keep, keys, lookups, request } = sessionsWith(ADVICE)
  const options = { cachedAs: 'advice/known', cache_key: 'k', preferredModel: 'fast' }
  expect((await request(options)).cached).toBeUndefined()
  keep('{"advice":"Go on.","confidence":1}')
  expect(await request(options)).toMatchObject({ value: { advice: 'Go on.', confidence: 1 }, cached: true, tokens: 0 })
  expect(keys()).toEqual(['advice'])
  expect(lookups).toEqual([
    ['advice/known', 'k', 'fast'],
    ['advice/known', 'k', 'fast'],
  ])
})

test('RQ1 a pattern of a user gets a typed answer from `context.request`', async () => {
  const asking = definePattern({
    name: 'asking',
    description: 'asks for advice',
    version: 1,
    category: 'planning',
    delegation: { self: 'count', cycles: 'refuse' },
    input: zod.object({}),
    output: zod.unknown() as z.ZodType,
    async execute(context) {
      const asked = context.roster.get('advisor')
      const { value, error } = await context.request({ key: 'advice', agent: asked, prompt: 'Advise.', answer: shape })
      // The value is typed: this does not compile with a wrong field.
      const advice: string | undefined = value?.advice
      return { success: error === null, output: { advice, confidence: value?.confidence } }
    },
  })
  const prompts: string[] = []
  const model = functionModel((request) => {
    prompts.push(lastMessageText(request))
    return { text: ADVICE }
  })
  const { troupe } = await createTestTroupe({ model, agents: [advisor], patterns: [asking] })
  const result = await troupe.run('asking', {})
  expect(result.output).toEqual({ advice: 'Wait.', confidence: 0.9 })
  expect(prompts).toEqual([FORM])
})
