import { describe, expect, test } from 'vitest'
import type { ProviderResponse } from '../../test/e2e/provider-responses.ts'
import { RESPONSE_ENCODERS } from '../../test/e2e/provider-responses.ts'
import { agent, createTestTroupe } from '../../test/support/test-troupe.ts'
import { definePattern } from '../kernel/pattern.ts'
import type { AnswerRequest } from '../kernel/session-request.ts'
import { loadProviderModel } from '../models/providers.ts'
import * as z from '../schema/zod.ts'

/* Typed answers over the protocol of OpenAI-compatible servers: what weak models and limited servers really send. */

const shape = {
  fields: { advice: 'text', confidence: 'confidence', steps: ['text'] },
  example: { advice: 'what to do, in one sentence', confidence: 0.5, steps: ['the first thing to do'] },
} as const
const ADVICE = '{"advice":"Wait.","confidence":"90 %","steps":["Call"]}'
const VALUE = { advice: 'Wait.', confidence: 0.9, steps: ['Call'] }

type WireReply = string | ProviderResponse | { status: number; message: string }
type WireBody = { response_format?: unknown; messages: unknown[] }

/** What a pattern gets from a server that sends these replies, and what the server got. */
async function askServer(replies: WireReply[], options: Partial<AnswerRequest<typeof shape>> = {}) {
  const bodies: WireBody[] = []
  const fetch = async (_url: unknown, init?: RequestInit): Promise<Response> => {
    bodies.push(JSON.parse(String(init?.body)) as WireBody)
    const reply = replies[bodies.length - 1] ?? 'no reply is left'
    if (typeof reply === 'object' && 'status' in reply)
      return Response.json({ error: { message: reply.message } }, { status: reply.status })
    const response = typeof reply === 'string' ? { text: reply } : reply
    const body = RESPONSE_ENCODERS['OpenAI-compatible']?.(response)
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  const env = { TROUPE_COMPATIBLE_BASE_URL: 'http://double.invalid/v1' }
  const model = await loadProviderModel('compatible/double', { env, fetch: fetch as typeof globalThis.fetch })
  const asking = definePattern({
    name: 'asking',
    description: 'asks for advice',
    version: 1,
    category: 'planning',
    input: z.object({}),
    output: z.unknown(),
    async execute(context) {
      const asked = context.roster.get('advisor')
      const answer = await context.request({
        key: 'advice',
        agent: asked,
        prompt: 'Advise.',
        answer: shape,
        ...options,
      })
      return { success: true, output: answer }
    },
  })
  const { troupe } = await createTestTroupe({ model, agents: [agent('advisor')], patterns: [asking] })
  const { output } = await troupe.run('asking', {})
  return { answer: output as Record<string, unknown>, bodies }
}

describe('over the wire', () => {
  test('RQ1 the server gets the strict schema once, and the answer is read', async () => {
    const { answer, bodies } = await askServer([ADVICE])
    expect(answer).toMatchObject({ value: VALUE, error: null })
    expect(bodies).toHaveLength(1)
    expect(bodies[0]?.response_format).toMatchObject({ type: 'json_schema', json_schema: { strict: true } })
  })

  test('RQ2 an object in prose is read without another request', async () => {
    const { answer, bodies } = await askServer([`Sure, here it is:\n\`\`\`json\n${ADVICE}\n\`\`\``])
    expect([answer.value, bodies.length]).toEqual([VALUE, 1])
  })

  test('RQ8 prose goes back once, and is then a failure', async () => {
    const corrected = await askServer(['I would wait.', ADVICE])
    expect([corrected.answer.value, corrected.bodies.length]).toEqual([VALUE, 2])
    const { answer, bodies } = await askServer(['I would wait.', 'I said wait.', ADVICE])
    expect(answer).toMatchObject({ error: { code: 'model_invalid_response' }, text: 'I said wait.' })
    expect(bodies).toHaveLength(2)
    const allowed = await askServer(['I would wait.'], { allowText: true })
    expect(allowed.answer).toMatchObject({ text: 'I would wait.', error: null })
    expect(allowed.bodies).toHaveLength(1)
  })

  test('RQ3 a copied example is no advice', async () => {
    const { answer } = await askServer([JSON.stringify(shape.example)])
    expect(answer.value).toEqual({ advice: '', confidence: 0.5, steps: [] })
  })

  test('RQ4 an answer that reached its limit keeps its complete fields', async () => {
    const cut = { text: '{"advice":"Wait.","confidence":0.9,"steps":["Call', stop: 'length' as const }
    const { answer, bodies } = await askServer([cut], { allowText: true })
    expect(answer).toMatchObject({ value: { advice: 'Wait.', confidence: 0.9 }, isCutOff: true })
    expect(bodies).toHaveLength(1)
  })

  test('RQ5 a server that refuses the schema gets the same prompt without it', async () => {
    const refusal = { status: 400, message: 'response_format is not supported by this model' }
    const { answer, bodies } = await askServer([refusal, ADVICE])
    expect(answer).toMatchObject({ value: VALUE, error: null })
    expect(bodies.map(({ response_format }) => response_format !== undefined)).toEqual([true, false])
  })

  test('RQ8 a refusal is in the answer', async () => {
    const { answer } = await askServer([{ text: 'I cannot help with that.', stop: 'refusal' }])
    expect(answer).toMatchObject({ status: 'failed', error: { code: 'model_refused' } })
  })
})
