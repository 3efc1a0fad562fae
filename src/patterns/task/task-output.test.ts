import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { eventData } from '../../../test/support/manual-doubles.ts'
import { memoryStore } from '../../../test/support/memory-store.ts'
import { agent, createTestTroupe, functionModel, lastMessageText, runToEnd } from '../../../test/support/test-troupe.ts'
import type { Event } from '../../kernel/event.ts'
import type { Schema } from '../../schema/standard-schema.ts'
import type { Store } from '../../store/store.ts'

const worker = agent('worker')
const verdict = z.object({ verdict: z.enum(['yes', 'no']), score: z.int().optional() })
const jsonSchema = {
  type: 'object',
  properties: { verdict: { type: 'string', enum: ['yes', 'no'] } },
  required: ['verdict'],
}

async function runTask(output: Schema, ...responses: string[]) {
  const model = functionModel((request) => ({ text: responses[request.session.turn - 1] ?? '' }))
  const { troupe } = await createTestTroupe({ model, agents: [worker] })
  const result = await runToEnd(troupe, 'task', { agent: 'worker', instruction: 'judge', output })
  return { model, troupe, result, events: await troupe.events(result.run_id).all() }
}

describe('output of a task that a program starts', () => {
  test.each<[string, Schema]>([
    ['zod', verdict],
    ['arktype', type({ verdict: "'yes' | 'no'" })],
    ['valibot', toStandardJsonSchema(v.object({ verdict: v.picklist(['yes', 'no']) }))],
    ['JSON Schema', jsonSchema],
  ])(
    'TK26 TK28 an answer that matches a schema of %s is in `object`, and the journal has JSON Schema',
    async (_library, output) => {
      const { model, result, events } = await runTask(output, '{"verdict":"yes"}')
      expect(result.output).toMatchObject({ response: '{"verdict":"yes"}', object: { verdict: 'yes' } })
      expect(model.requests[0]?.output).toMatchObject({ type: 'object', required: ['verdict'] })
      expect(eventData(events, 'run:start')[0]?.input).toMatchObject({
        output: { type: 'object', required: ['verdict'] },
      })
      expect(JSON.parse(JSON.stringify(events))).toEqual(events)
    },
  )

  test('TK27 a mismatch goes back once; then the task fails with its text', async () => {
    const repaired = await runTask(verdict, 'maybe', '{"verdict":"no"}')
    expect(repaired.result.output).toMatchObject({ object: { verdict: 'no' } })
    expect(repaired.model.requests[1] && lastMessageText(repaired.model.requests[1])).toContain('not JSON')
    const failed = await runTask(verdict, '{"verdict":"maybe"}', 'still maybe', '{"verdict":"no"}')
    expect(failed.model.requests).toHaveLength(2)
    expect(failed.result).toMatchObject({ status: 'failed', error: { code: 'model_invalid_response' } })
    expect(failed.result.output).toMatchObject({ response: 'still maybe' })
    expect(failed.result.output).not.toHaveProperty('object')
  })

  test.each<[string, unknown, RegExp]>([
    ['that is no object', z.array(z.string()), /output: `output` does not describe an object/],
    ['that is too large', { type: 'object', description: 'x'.repeat(70_000) }, /output: `output` has \d+ bytes/],
    ['of an unsupported library', v.object({}), /output: `output` is a schema of valibot, which gives no JSON Schema/],
    ['with an unknown type', { type: 'object', properties: { a: { type: 'txt' } } }, /output: .*Unsupported type: txt/],
  ])('TK26 a schema %s is rejected before the run exists', async (_kind, output, problem) => {
    const { troupe } = await createTestTroupe({ agents: [worker] })
    const starting = troupe.run('task', { agent: 'worker', instruction: 'x', output: output as Schema })
    await expect(starting).rejects.toThrow(problem)
    expect(await troupe.runs().all()).toEqual([])
  })
})

describe('output of a task that an agent starts', () => {
  /** `lead` calls `task` with these schemas, one per turn; `worker` answers with JSON. */
  async function delegate(outputs: unknown[], more: Record<string, unknown> = {}) {
    const model = functionModel(({ session }) => {
      if (session.agent === 'worker') return { text: '{"verdict":"yes"}' }
      const output = outputs[session.turn - 1]
      const input = { agent: 'worker', instruction: 'judge', output, ...more }
      return output === undefined ? { text: 'done' } : { calls: [{ name: 'task', input }] }
    })
    const { troupe, task } = await createTestTroupe({ model, agents: [agent('lead'), worker] })
    const { run_id } = await task('lead', 'go')
    return { model, run_id, events: await troupe.events(run_id).all() }
  }

  test('TK26 the tool takes a JSON Schema and returns the object', async () => {
    const { model, events } = await delegate([jsonSchema])
    expect(eventData(events, 'tool:post')[0]?.output).toMatchObject({ object: { verdict: 'yes' } })
    const tool = model.requests[0]?.tools.find(({ name }) => name === 'task')
    expect(tool?.input.properties).toMatchObject({ output: { type: 'object' } })
  })

  test('TK29 a schema with a regular expression is rejected; a property may be called pattern', async () => {
    const inner = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } }
    const named = { ...jsonSchema, properties: { ...jsonSchema.properties, pattern: { type: 'string' } } }
    const { events } = await delegate([inner, named, { type: 'object', patternProperties: {} }])
    const errors = eventData(events, 'tool:error').map(({ detail }) => detail)
    expect(errors).toMatchObject([{ code: 'invalid_tool_input' }, { code: 'invalid_tool_input' }])
    expect(eventData(events, 'tool:post')).toHaveLength(1)
  })

  test('TK28 a background task that a crash interrupted is still validated', async () => {
    const { run_id, events } = await delegate([jsonSchema], { background: true })
    const opened = events.findIndex(({ type: name, data }) => name === 'session:open' && 'background' in data)
    const store = await storeWithPrefix(events, opened + 1)
    let replies = 0
    const model = functionModel(({ session }) =>
      session.agent === 'worker' ? { text: ++replies === 1 ? 'no json' : '{"verdict":"no"}' } : { text: 'done' },
    )
    const { troupe } = await createTestTroupe({ model, agents: [agent('lead'), worker], store })
    await (await troupe.resume(run_id)).result
    const ends = eventData(await troupe.events(run_id).all(), 'session:end')
    expect(ends.map(({ object }) => object)).toContainEqual({ verdict: 'no' })
    expect(replies).toBe(2)
  })
})

test('TK26 tasks with different schemas do not share a cached result', async () => {
  const model = functionModel(() => ({ text: '{"verdict":"yes"}' }))
  const { troupe } = await createTestTroupe({ model, agents: [agent('worker', { tools: [] })] })
  const task = { agent: 'worker', instruction: 'judge', cache: true }
  await troupe.run('task', { ...task, output: verdict })
  const cached = await troupe.run('task', { ...task, output: verdict })
  expect(cached.output).toMatchObject({ cached: true, object: { verdict: 'yes' } })
  expect((await troupe.run('task', task)).output).not.toHaveProperty('cached')
})

async function storeWithPrefix(events: readonly Event[], length: number): Promise<Store> {
  const store = memoryStore()
  const [start, ...rest] = events.slice(0, length)
  if (!start) return store
  await store.createRun(start)
  const lease = await store.lease(start.run_id, { owner: 'crashed', ttl_ms: 30_000 })
  const { run_id, project, epoch } = lease
  const [outcome] = await store.append([{ run_id, project, epoch, events: rest, sync: 'full' }])
  if (outcome && !outcome.ok) throw outcome.error
  await store.release(lease)
  return store
}
