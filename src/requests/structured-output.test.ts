import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { expectLinearTime } from '../../test/support/linear-time.ts'
import { agent, createTestTroupe, functionModel, lastMessageText, runToEnd } from '../../test/support/test-troupe.ts'
import { definePattern } from '../kernel/pattern.ts'
import { parseStructuredOutput } from './structured-output.ts'

const schema = z.object({ verdict: z.enum(['yes', 'no']), score: z.number() })

/** Requests structured output from one agent and returns the session result. */
const judge = definePattern({
  name: 'judge',
  description: 'requests an object',
  version: 1,
  category: 'planning',
  delegation: { self: 'count', cycles: 'refuse' },
  input: z.object({}),
  output: z.unknown(),
  async execute(context) {
    const result = await context.perform(
      context.roster.get('judge'),
      { instruction: 'judge', output: schema },
      { key: 's' },
    )
    return {
      success: result.status === 'completed',
      output: result,
      ...(result.error ? { detail: result.error } : undefined),
    }
  },
})

async function runJudge(...responses: string[]) {
  const model = functionModel((request) => ({ text: responses[request.session.turn - 1] ?? '' }))
  const { troupe } = await createTestTroupe({ model, agents: [agent('judge')], patterns: [judge] })
  return { model, result: await troupe.run('judge', {}) }
}

test('SO1 a response that matches the schema is returned as an object, and the model gets the schema', async () => {
  const { model, result } = await runJudge('{"verdict":"yes","score":3}')
  expect(result.output).toMatchObject({ object: { verdict: 'yes', score: 3 }, stop_reason: 'completed' })
  expect(model.requests[0]?.output).toMatchObject({ type: 'object', required: ['verdict', 'score'] })
})

test('SO2 a response that does not match goes back once, with the reason', async () => {
  const { model, result } = await runJudge('{"verdict":"maybe"}', '{"verdict":"no","score":1}')
  expect(result.output).toMatchObject({ object: { verdict: 'no', score: 1 } })
  expect(lastMessageText(model.requests[1] as never)).toMatch(/verdict: .*; score is missing/)
})

test('SO3 a second mismatch fails and keeps the text, and a resume repeats the call', async () => {
  const responses = ['no json', 'still none', '{"verdict":"no","score":1}']
  const model = functionModel(() => ({ text: responses[model.requests.length - 1] ?? '' }))
  const { troupe } = await createTestTroupe({ model, agents: [agent('judge')], patterns: [judge] })
  const failed = await runToEnd(troupe, 'judge', {})
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'model_invalid_response', responsible: 'model' } })
  expect(failed.output).toMatchObject({ text: 'still none' })
  const resumed = await (await troupe.resume(failed.run_id)).result
  expect(resumed.output).toMatchObject({ object: { verdict: 'no', score: 1 } })
  expect(model.requests).toHaveLength(3)
})

describe('SO4 parsing JSON', () => {
  test.each([
    ['SO4 bare', '{"verdict":"yes","score":1}'],
    ['SO4 in a code fence', 'Here it is:\n```json\n{"verdict":"yes","score":1}\n```\nDone.'],
    ['SO4 surrounded by text', 'I say {"verdict":"yes","score":1} and stop.'],
  ])('%s', (_title, text) => {
    expect(parseStructuredOutput(schema, text)).toEqual({ ok: true, object: { verdict: 'yes', score: 1 } })
  })

  test.each([
    ['SO4 as a JSON string', JSON.stringify('{"verdict":"yes","score":1}')],
    ['SO4 as a JSON string with a fence', JSON.stringify('```json\n{"verdict":"yes","score":1}\n```')],
    ['SO4 in the second of two fences', '```ts\nlet x = {}\n```\nand\n```json\n{"verdict":"yes","score":1}\n```'],
  ])('%s', (_title, text) => {
    expect(parseStructuredOutput(schema, text)).toEqual({ ok: true, object: { verdict: 'yes', score: 1 } })
  })

  test('a string that the schema accepts is not decoded', () => {
    expect(parseStructuredOutput(z.string(), '"{}"')).toEqual({ ok: true, object: '{}' })
  })

  test.each<[string, (length: number) => string]>([
    ['braces', (length) => '{'.repeat(length)],
    ['fences', (length) => '```\n'.repeat(length / 4)],
    ['line breaks', (length) => `\`\`\`${'\n'.repeat(length)}`],
  ])('a long text of %s is rejected in linear time', async (_, text) => {
    expect(parseStructuredOutput(schema, text(1_000_000))).toEqual({ ok: false, reason: 'it is not JSON' })
    await expectLinearTime((length) => parseStructuredOutput(schema, text(length)), 1_000_000)
  })

  test('SO4 text without JSON is rejected with a reason', () => {
    expect(parseStructuredOutput(schema, 'yes')).toEqual({ ok: false, reason: 'it is not JSON' })
  })
})

describe('SO7 objects with mistakes', () => {
  test.each([
    '{"verdict":"yes","score":3,}',
    "{'verdict': 'yes', 'score': 3}",
    '{verdict: "yes", score: 3}',
    '{“verdict”: “yes”, “score”: 3}',
    '{"verdict":"yes", // certain\n"score":3 /* of 5 */}',
    'Here it is:\n```json\n{"verdict":"yes",\n"score":3,\n}\n```\nDone.',
    'Is it {"verdict":"no","score":1}? Rather not.</think>\n{"verdict":"yes","score":3}',
    '{"verdict":"yes","score":3,"note":"first line\nsecond line"}',
  ])('SO7 is read as meant: %s', (text) => {
    expect(parseStructuredOutput(schema, text)).toEqual({ ok: true, object: { verdict: 'yes', score: 3 } })
  })

  test.each([
    '{"verdict":"yes","score":3',
    '{\'verdict\':"yes","score":3,"note":"and so',
    'Use {verdict} and {score}.',
    '{ maybe yes, maybe no }',
    'yes, 3',
  ])('SO7 is not invented: %s', (text) => {
    expect(parseStructuredOutput(schema, text)).toEqual({ ok: false, reason: 'it is not JSON' })
  })

  test('SO7 a long text is not repaired', () => {
    const note = 'he said "no" '.repeat(2_000)
    expect(parseStructuredOutput(schema, `{"verdict":"yes","score":3,"note":"${note}"}`)).toMatchObject({ ok: false })
  })
})
