import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  chunkModel,
  chunksByTurn,
  eventData,
  flushEventLoop,
  textChunks,
  toolCallChunks,
} from '../../../test/support/manual-doubles.ts'
import { agent, createTestTroupe, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { ToolMessage } from '../../kernel/model.ts'
import type { Tool, ToolCall } from '../../kernel/tool.ts'
import type { TroupeOptions } from '../../runtime/troupe-options.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { MAX_TOOL_OUTPUT_CHARS } from './tool-result.ts'

const worker = agent('worker')

function readTool(
  name: string,
  execute: (input: { n?: number }, signal: AbortSignal) => unknown,
  more: Partial<Tool> = {},
) {
  return defineTool<{ n?: number | undefined }>({
    name,
    description: name,
    input: z.strictObject({ n: z.number().optional() }),
    kind: 'read',
    execute: (input, call) => execute(input as { n?: number }, call.signal),
    ...(more as object),
  })
}

/** One turn with these tool calls, then a final text; returns the results that the model got. */
async function runToolCalls(calls: ReturnType<typeof toolCallChunks>, options: TroupeOptions) {
  const model = chunkModel(chunksByTurn(calls, textChunks('done')))
  const { troupe, task } = await createTestTroupe({ model, agents: [worker], ...options })
  const result = await task('worker', 'go')
  const events = await troupe.events(result.run_id).all()
  const last = model.requests[1]
  return { result, events, model, results: (last?.messages.at(-1) as ToolMessage | undefined)?.content ?? [] }
}

describe('tool calls of one turn', () => {
  test('U1 tool calls run in parallel, and their results are in call order', async () => {
    const gates = [0, 1, 2].map(() => Promise.withResolvers<void>())
    const order: string[] = []
    const allBegun = Promise.withResolvers<void>()
    const look = readTool('look', async ({ n = 0 }) => {
      order.push(`begin ${n}`)
      if (order.length === 3) allBegun.resolve()
      await gates[n]?.promise
      order.push(`end ${n}`)
      return { success: true, output: `seen ${n}` }
    })
    const three = [0, 1, 2].map((n) => ({ name: 'look', input: { n } }))
    const running = runToolCalls(toolCallChunks(...three), { tools: [look] })
    await allBegun.promise
    for (const n of [2, 0, 1]) {
      await flushEventLoop()
      gates[n]?.resolve()
    }
    const { results, events } = await running
    expect(order).toEqual(['begin 0', 'begin 1', 'begin 2', 'end 2', 'end 0', 'end 1'])
    expect(results.map(({ text }) => text)).toEqual(['seen 0', 'seen 1', 'seen 2'])
    const groups = new Set(eventData(events, 'tool:pre').map((pre) => pre.parallel_group_id))
    expect(groups.size).toBe(1)
  })

  test('U2 every call has a result with its own id, even a failed one', async () => {
    const tools = [
      readTool('fine', () => ({ success: true, output: { a: 1 } })),
      readTool('throws', () => {
        throw new Error('the disk is on fire')
      }),
      readTool('rejects', async () => Promise.reject(new Error('no route'))),
      readTool('fails', () => ({ success: false, error: 'nothing found', output: 'empty list' })),
      readTool('mute', () => ({ success: false })),
    ]
    const names = ['fine', 'throws', 'rejects', 'fails', 'mute', 'fien']
    const { results, events, result } = await runToolCalls(toolCallChunks(...names.map((name) => ({ name }))), {
      tools,
    })
    expect(results.map(({ id, name, is_error }) => [id, name, is_error])).toEqual(
      names.map((name, index) => [`call_${index}`, name, name !== 'fine']),
    )
    const texts = results.map(({ text }) => text)
    expect(texts[0]).toBe('{"a":1}')
    expect(texts[1]).toContain('the disk is on fire')
    expect(texts[2]).toContain('no route')
    expect(texts[3]).toMatch(/nothing found[\s\S]*empty list/)
    expect(texts[4]).toContain('mute failed without an error message')
    expect(eventData(events, 'tool:post').length + eventData(events, 'tool:error').length).toBe(6)
    expect(result.status).toBe('completed')
  })

  test('U2 calling an unknown tool lists the known ones, nearest first', async () => {
    const tools = ['search', 'write', 'read'].map((name) => readTool(name, () => ({ success: true })))
    const { results, events } = await runToolCalls(toolCallChunks({ name: 'serch' }), { tools })
    expect(results[0]?.text).toMatch(/no tool 'serch'; known: search/)
    expect(eventData(events, 'tool:error')[0]?.detail).toMatchObject({ code: 'unknown_tool', responsible: 'model' })
  })

  test('U2 a tool that the agent does not have is unknown', async () => {
    const tools = ['look', 'push'].map((name) => readTool(name, () => ({ success: true })))
    const { results } = await runToolCalls(toolCallChunks({ name: 'push' }), {
      tools,
      agents: [agent('worker', { tools: ['look'] })],
    })
    expect(results[0]?.text).toContain("no tool 'push'; known: look")
  })

  test('U6 a value without a boolean `success` is the output of a success; one that is no JSON fails the call', async () => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    const values = [{ rows: 3 }, 'text', null, undefined, { success: 'yes' }, { success: false, error: 'no' }, circle]
    const tools = values.map((value, index) => readTool(`odd${index}`, () => value))
    const { results, result } = await runToolCalls(toolCallChunks(...tools.map(({ name }) => ({ name }))), { tools })
    expect(results.map(({ is_error }) => is_error === true)).toEqual([false, false, false, false, false, true, true])
    expect(results.slice(0, 2).map(({ text }) => text)).toEqual(['{"rows":3}', 'text'])
    expect(result.status).toBe('completed')
  })

  test('U6 `category` of a tool follows from its kind', () => {
    const define = (kind: Tool['kind']) =>
      defineTool({ name: 'x', description: 'x', input: z.object({}), kind, execute: () => 1 })
    expect([define('read').category, define('idempotent').category, define('act').category]).toEqual([
      'perception',
      'action',
      'action',
    ])
  })

  test('U6 changing a returned object later does not change the record', async () => {
    const list = ['one']
    const look = readTool('look', () => {
      queueMicrotask(() => queueMicrotask(() => list.push('two')))
      return { success: true, output: list }
    })
    const { events, results } = await runToolCalls(toolCallChunks({ name: 'look' }), { tools: [look] })
    expect(eventData(events, 'tool:post')[0]?.output).toEqual(JSON.parse(results[0]?.text ?? ''))
    list.push('three')
    expect(eventData(events, 'tool:post')[0]?.output).not.toContain('three')
  })
})

describe('timeouts and long output', () => {
  test('U4 a tool that exceeds its timeout_ms fails, and its signal aborts', async () => {
    const world = simulatedWorld(1)
    const began = world.now()
    let aborted: number | undefined
    const hang = readTool(
      'hang',
      (_, signal) =>
        new Promise(() => {
          signal.addEventListener('abort', () => (aborted = world.now() - began))
        }),
      { timeout_ms: 3000 },
    )
    const { results, result } = await world.runUntil(
      runToolCalls(toolCallChunks({ name: 'hang' }), { tools: [hang], engine: { world } }),
    )
    expect(results[0]?.text).toContain('hang did not return within 3000 ms')
    expect([aborted, result.status]).toEqual([3000, 'completed'])
  })

  test('U4 the default timeout is two minutes, and a late result is ignored', async () => {
    const world = simulatedWorld(1)
    const began = world.now()
    const hang = readTool('hang', () => world.sleep(200_000).then(() => ({ success: true, output: 'late' })))
    const wait = readTool('wait', () => world.sleep(100_000).then(() => ({ success: true, output: 'in time' })))
    const { results, events } = await world.runUntil(
      runToolCalls(toolCallChunks({ name: 'hang' }, { name: 'wait' }), { tools: [hang, wait], engine: { world } }),
    )
    expect(results.map(({ is_error }) => is_error)).toEqual([true, false])
    expect(world.now() - began).toBe(120_000)
    expect(eventData(events, 'tool:post')).toHaveLength(1)
  })

  test('U35 progress starts the timeout again, up to max_timeout_ms, and is recorded now and then', async () => {
    const world = simulatedWorld(1)
    const began = world.now()
    const busy = (name: string, seconds: number) =>
      readTool(name, () => undefined, {
        timeout_ms: 3000,
        max_timeout_ms: 60_000,
        async execute(_input: never, { reportProgress }: ToolCall) {
          for (let progress = 1; progress <= seconds; progress++) {
            await world.sleep(1000)
            reportProgress?.({ progress, total: seconds, message: `second ${progress}` })
          }
          return { success: true, output: name }
        },
      })
    const { results, events } = await world.runUntil(
      runToolCalls(toolCallChunks({ name: 'long' }, { name: 'endless' }), {
        tools: [busy('long', 30), busy('endless', 100)],
        engine: { world },
      }),
    )
    expect(results[0]).toMatchObject({ text: 'long', is_error: false })
    expect(results[1]?.text).toContain('endless reported progress but did not return within 60000 ms')
    expect(world.now() - began).toBe(60_000)
    const recorded = eventData(events, 'tool:progress').filter(({ tool }) => tool === 'long')
    expect(recorded[0]).toMatchObject({ key: 'session/turn/1/tool/0', progress: 1, total: 30, message: 'second 1' })
    expect(recorded.length).toBeGreaterThan(5)
    expect(recorded.length).toBeLessThan(16)
  })

  test('U5 long output is truncated, and the text says by how much', async () => {
    const flood = readTool('flood', () => ({ success: true, output: 'x'.repeat(50_000_000) }))
    const table = readTool('table', () => ({
      success: true,
      output: Array.from({ length: 100_000 }, (_, n) => ({ n })),
    }))
    const { results, events } = await runToolCalls(toolCallChunks({ name: 'flood' }, { name: 'table' }), {
      tools: [flood, table],
    })
    const omitted = 50_000_000 - MAX_TOOL_OUTPUT_CHARS
    expect(results[0]?.text.length).toBeLessThan(MAX_TOOL_OUTPUT_CHARS + 200)
    expect(results[0]?.text).toContain(`[truncated: ${omitted} more characters`)
    expect(results[1]?.text).toMatch(/truncated: \d+ more characters/)
    expect(eventData(events, 'tool:post')[0]?.truncated).toBe(omitted)
  })

  test('U5 long error messages are truncated too', async () => {
    const loud = readTool('loud', () => {
      throw new Error('y'.repeat(1_000_000))
    })
    const { results } = await runToolCalls(toolCallChunks({ name: 'loud' }), { tools: [loud] })
    expect(results[0]?.text.length).toBeLessThan(MAX_TOOL_OUTPUT_CHARS + 1000)
  })
})

describe('invalid arguments', () => {
  const look = readTool('look', ({ n }) => ({ success: true, output: n }))
  const invalid = toolCallChunks({ name: 'look', input: { n: 'three' } })
  const valid = toolCallChunks({ name: 'look', input: { n: 3 } })

  test('U3 invalid arguments go back with the reason, and the corrected call is made', async () => {
    const model = chunkModel(chunksByTurn(invalid, valid, textChunks('done')))
    const { task } = await createTestTroupe({ model, agents: [worker], tools: [look] })
    expect((await task('worker', 'go')).status).toBe('completed')
    const [, second, third] = model.requests
    expect(second && lastMessageText(second)).toMatch(/invalid arguments for look: n: .*number/)
    expect(third && lastMessageText(third)).toBe('3')
  })

  test('U3 arguments that are not JSON go back too', async () => {
    const calls = toolCallChunks({ name: 'look', input: '{"n":', invalid: 'unexpected end' })
    const { results } = await runToolCalls(calls, { tools: [look] })
    expect(results[0]?.text).toContain('unexpected end')
  })

  test.each([257, 5_000, 50_000])('U3 arguments that are nested %i levels deep go back too', async (depth) => {
    let n: unknown = 3
    for (let level = 1; level < depth; level++) n = [n]
    const { results } = await runToolCalls(toolCallChunks({ name: 'look', input: { n } }), { tools: [look] })
    expect(results[0]?.text).toContain('nested more than 256 levels deep')
  })

  test('U3 invalid arguments in two turns in a row end the session; between valid calls they do not', async () => {
    const failingModel = chunkModel(chunksByTurn(invalid, invalid, textChunks('never')))
    const one = await createTestTroupe({ model: failingModel, agents: [worker], tools: [look] })
    const failed = await one.task('worker', 'go')
    expect(failed).toMatchObject({ status: 'failed', stop_reason: 'failed', error: { code: 'invalid_tool_input' } })
    expect(failingModel.requests).toHaveLength(2)
    const recoveringModel = chunkModel(chunksByTurn(invalid, valid, invalid, valid, textChunks('done')))
    const two = await createTestTroupe({ model: recoveringModel, agents: [worker], tools: [look] })
    expect((await two.task('worker', 'go')).status).toBe('completed')
  })

  test('U3 a resume gives the model another try, and no call is made twice', async () => {
    const push = readTool('push', () => ({ success: true, output: ++pushed }), { kind: 'act' })
    let pushed = 0
    const both = toolCallChunks({ name: 'push' }, { name: 'look', input: { n: 'x' } })
    const model = chunkModel(chunksByTurn(both, both, valid, textChunks('done')))
    const { troupe, task } = await createTestTroupe({ model, agents: [worker], tools: [look, push] })
    const failed = await task('worker', 'go')
    expect(failed.status).toBe('failed')
    const resumed = await (await troupe.resume(failed.run_id)).result
    expect([resumed.status, pushed, model.requests.length]).toEqual(['completed', 2, 4])
  })

  test('U3 a new instruction resets the count', async () => {
    const model = chunkModel(chunksByTurn(invalid, invalid, invalid, valid, textChunks('done')))
    const { troupe, task } = await createTestTroupe({ model, agents: [worker], tools: [look] })
    const failed = await task('worker', 'go')
    const { session_id } = failed.output as { session_id: string }
    const again = await troupe.run('task', { session_id, instruction: 'once more' })
    expect(again.status).toBe('completed')
  })
})
