import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import { definePattern } from '../pattern.ts'
import { parseStructuredOutput } from './structured-output.ts'

const shape = z.object({ verdict: z.enum(['yes', 'no']), score: z.number() })

/** Asks one agent for an object, and returns what came. */
const asks = definePattern<Record<string, never>>({
  name: 'asks',
  description: 'asks for an object',
  version: 1,
  category: 'planning',
  delegates: true,
  input: z.object({}),
  output: z.unknown(),
  async execute(context) {
    const result = await context.perform(
      context.roster.get('judge'),
      { instruction: 'judge', output: shape },
      { key: 's' },
    )
    return {
      success: result.status === 'completed',
      output: result,
      ...(result.error ? { detail: result.error } : undefined),
    }
  },
})

async function judged(...answers: string[]) {
  const model = functionModel((request) => ({ text: answers[request.session.turn - 1] ?? '' }))
  const { troupe } = await createTestTroupe({ model, agents: [agent('judge')], patterns: [asks] })
  return { model, result: await troupe.run('asks', {}) }
}

test('SO1 an answer of the shape that was asked for comes back as an object; the model is told the shape', async () => {
  const { model, result } = await judged('{"verdict":"yes","score":3}')
  expect(result.output).toMatchObject({ object: { verdict: 'yes', score: 3 }, stop_reason: 'completed' })
  expect(model.requests[0]?.output).toMatchObject({ type: 'object', required: ['verdict', 'score'] })
})

test('SO2 an answer that does not fit goes back once, with the reason', async () => {
  const { model, result } = await judged('{"verdict":"maybe"}', '{"verdict":"no","score":1}')
  expect(result.output).toMatchObject({ object: { verdict: 'no', score: 1 } })
  expect(lastMessageText(model.requests[1] as never)).toMatch(/verdict: .*; score is missing/)
})

test('SO3 a second misfit fails, keeps the words, and resuming asks again', async () => {
  const answers = ['no json', 'still none', '{"verdict":"no","score":1}']
  const model = functionModel(() => ({ text: answers[model.requests.length - 1] ?? '' }))
  const { troupe } = await createTestTroupe({ model, agents: [agent('judge')], patterns: [asks] })
  const failed = await troupe.run('asks', {})
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'model_invalid_response', responsible: 'model' } })
  expect(failed.output).toMatchObject({ text: 'still none' })
  const resumed = await (await troupe.resume(failed.run_id)).result
  expect(resumed.output).toMatchObject({ object: { verdict: 'no', score: 1 } })
  expect(model.requests).toHaveLength(3)
})

describe('SO4 JSON is found', () => {
  test.each([
    ['SO4 bare', '{"verdict":"yes","score":1}'],
    ['SO4 in a fence', 'Here it is:\n```json\n{"verdict":"yes","score":1}\n```\nDone.'],
    ['SO4 among words', 'I say {"verdict":"yes","score":1} and stop.'],
  ])('%s', (_title, text) => {
    expect(parseStructuredOutput(shape, text)).toEqual({ ok: true, object: { verdict: 'yes', score: 1 } })
  })

  test('SO4 and what is no JSON is said to be none', () => {
    expect(parseStructuredOutput(shape, 'yes')).toEqual({ ok: false, reason: 'it is not JSON' })
  })
})
