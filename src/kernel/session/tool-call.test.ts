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
import type { TroupeOptions } from '../../runtime/troupe-options.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'
import type { ToolMessage } from '../model.ts'
import type { Tool, ToolResult } from '../tool.ts'
import { defineTool } from '../tool.ts'
import { MAX_TOOL_OUTPUT_CHARS } from './tool-result.ts'

const worker = agent('worker')

function reads(
  name: string,
  execute: (input: { n?: number }, signal: AbortSignal) => unknown,
  more: Partial<Tool> = {},
) {
  return defineTool<{ n?: number | undefined }>({
    name,
    description: name,
    input: z.strictObject({ n: z.number().optional() }),
    category: 'perception',
    kind: 'read',
    execute: (input, call) => execute(input as { n?: number }, call.signal) as ToolResult,
    ...(more as object),
  })
}

/** One turn with these calls, then a last word; what the model was told is returned. */
async function told(made: ReturnType<typeof toolCallChunks>, options: TroupeOptions) {
  const model = chunkModel(chunksByTurn(made, textChunks('done')))
  const { troupe, task } = await createTestTroupe({ model, agents: [worker], ...options })
  const result = await task('worker', 'go')
  const events = await troupe.events(result.run_id)
  const last = model.requests[1]
  return { result, events, model, answers: (last?.messages.at(-1) as ToolMessage | undefined)?.content ?? [] }
}

describe('calls of one turn', () => {
  test('U1 they run at the same time, and their results come in call order', async () => {
    const doors = [0, 1, 2].map(() => Promise.withResolvers<void>())
    const order: string[] = []
    const allBegun = Promise.withResolvers<void>()
    const look = reads('look', async ({ n = 0 }) => {
      order.push(`begin ${n}`)
      if (order.length === 3) allBegun.resolve()
      await doors[n]?.promise
      order.push(`end ${n}`)
      return { success: true, output: `seen ${n}` }
    })
    const three = [0, 1, 2].map((n) => ({ name: 'look', input: { n } }))
    const running = told(toolCallChunks(...three), { tools: [look] })
    await allBegun.promise
    for (const n of [2, 0, 1]) {
      await flushEventLoop()
      doors[n]?.resolve()
    }
    const { answers, events } = await running
    expect(order).toEqual(['begin 0', 'begin 1', 'begin 2', 'end 2', 'end 0', 'end 1'])
    expect(answers.map(({ text }) => text)).toEqual(['seen 0', 'seen 1', 'seen 2'])
    const groups = new Set(eventData(events, 'tool:pre').map((pre) => pre.parallel_group_id))
    expect(groups.size).toBe(1)
  })

  test('U2 every call is answered under its own id, whatever became of it', async () => {
    const tools = [
      reads('fine', () => ({ success: true, output: { a: 1 } })),
      reads('throws', () => {
        throw new Error('the disk is on fire')
      }),
      reads('rejects', async () => Promise.reject(new Error('no route'))),
      reads('fails', () => ({ success: false, error: 'nothing found', output: 'empty list' })),
      reads('mute', () => ({ success: false })),
    ]
    const names = ['fine', 'throws', 'rejects', 'fails', 'mute', 'fien']
    const { answers, events, result } = await told(toolCallChunks(...names.map((name) => ({ name }))), { tools })
    expect(answers.map(({ id, name, is_error }) => [id, name, is_error])).toEqual(
      names.map((name, index) => [`call_${index}`, name, name !== 'fine']),
    )
    const texts = answers.map(({ text }) => text)
    expect(texts[0]).toBe('{"a":1}')
    expect(texts[1]).toContain('the disk is on fire')
    expect(texts[2]).toContain('no route')
    expect(texts[3]).toMatch(/nothing found[\s\S]*empty list/)
    expect(texts[4]).toContain('mute failed without an error message')
    expect(eventData(events, 'tool:post').length + eventData(events, 'tool:error').length).toBe(6)
    expect(result.status).toBe('completed')
  })

  test('U2 an unknown tool is answered with the known ones, nearest first', async () => {
    const tools = ['search', 'write', 'read'].map((name) => reads(name, () => ({ success: true })))
    const { answers, events } = await told(toolCallChunks({ name: 'serch' }), { tools })
    expect(answers[0]?.text).toMatch(/no tool 'serch'; known: search/)
    expect(eventData(events, 'tool:error')[0]?.detail).toMatchObject({ code: 'unknown_tool', responsible: 'model' })
  })

  test('U2 a tool that the agent was not given is unknown to it', async () => {
    const tools = ['look', 'push'].map((name) => reads(name, () => ({ success: true })))
    const { answers } = await told(toolCallChunks({ name: 'push' }), {
      tools,
      agents: [agent('worker', { tools: ['look'] })],
    })
    expect(answers[0]?.text).toContain("no tool 'push'; known: look")
  })

  test('U6 a tool that returns nonsense is answered as failed', async () => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    const given = [undefined, null, 'text', { output: 1 }, { success: true, output: circle }]
    const tools = given.map((value, index) => reads(`odd${index}`, () => value))
    const { answers, result } = await told(toolCallChunks(...tools.map(({ name }) => ({ name }))), { tools })
    expect(answers.map(({ is_error }) => is_error)).toEqual([true, true, true, true, true])
    expect(answers[0]?.text).toContain('odd0 did not return {success, output, error}')
    expect(result.status).toBe('completed')
  })

  test('U6 what a tool does to its answer afterwards changes nothing that was recorded', async () => {
    const list = ['one']
    const look = reads('look', () => {
      queueMicrotask(() => queueMicrotask(() => list.push('two')))
      return { success: true, output: list }
    })
    const { events, answers } = await told(toolCallChunks({ name: 'look' }), { tools: [look] })
    expect(eventData(events, 'tool:post')[0]?.output).toEqual(JSON.parse(answers[0]?.text ?? ''))
    list.push('three')
    expect(eventData(events, 'tool:post')[0]?.output).not.toContain('three')
  })
})

describe('a tool that is slow or talks too much', () => {
  test('U4 a tool that hangs is answered as timed out, and its signal aborted', async () => {
    const world = simulatedWorld(1)
    const began = world.now()
    let aborted: number | undefined
    const hang = reads(
      'hang',
      (_, signal) =>
        new Promise(() => {
          signal.addEventListener('abort', () => (aborted = world.now() - began))
        }),
      { timeout_ms: 3000 },
    )
    const { answers, result } = await world.runUntil(
      told(toolCallChunks({ name: 'hang' }), { tools: [hang], engine: { world } }),
    )
    expect(answers[0]?.text).toContain('hang did not return within 3000 ms')
    expect([aborted, result.status]).toEqual([3000, 'completed'])
  })

  test('U4 a tool without a timeout of its own has two minutes, and a late result is ignored', async () => {
    const world = simulatedWorld(1)
    const began = world.now()
    const hang = reads('hang', () => world.sleep(200_000).then(() => ({ success: true, output: 'late' })))
    const wait = reads('wait', () => world.sleep(100_000).then(() => ({ success: true, output: 'in time' })))
    const { answers, events } = await world.runUntil(
      told(toolCallChunks({ name: 'hang' }, { name: 'wait' }), { tools: [hang, wait], engine: { world } }),
    )
    expect(answers.map(({ is_error }) => is_error)).toEqual([true, false])
    expect(world.now() - began).toBe(120_000)
    expect(eventData(events, 'tool:post')).toHaveLength(1)
  })

  test('U5 fifty megabytes are cut, and the answer says how much was left out', async () => {
    const flood = reads('flood', () => ({ success: true, output: 'x'.repeat(50_000_000) }))
    const table = reads('table', () => ({ success: true, output: Array.from({ length: 100_000 }, (_, n) => ({ n })) }))
    const { answers, events } = await told(toolCallChunks({ name: 'flood' }, { name: 'table' }), {
      tools: [flood, table],
    })
    const left = 50_000_000 - MAX_TOOL_OUTPUT_CHARS
    expect(answers[0]?.text.length).toBeLessThan(MAX_TOOL_OUTPUT_CHARS + 200)
    expect(answers[0]?.text).toContain(`[truncated: ${left} more characters`)
    expect(answers[1]?.text).toMatch(/truncated: \d+ more characters/)
    expect(eventData(events, 'tool:post')[0]?.truncated).toBe(left)
  })

  test('U5 the words of a failure are cut as well', async () => {
    const loud = reads('loud', () => {
      throw new Error('y'.repeat(1_000_000))
    })
    const { answers } = await told(toolCallChunks({ name: 'loud' }), { tools: [loud] })
    expect(answers[0]?.text.length).toBeLessThan(MAX_TOOL_OUTPUT_CHARS + 1000)
  })
})

describe('arguments that do not fit', () => {
  const look = reads('look', ({ n }) => ({ success: true, output: n }))
  const bad = toolCallChunks({ name: 'look', input: { n: 'three' } })
  const good = toolCallChunks({ name: 'look', input: { n: 3 } })

  test('U3 they go back with the reason, and the corrected call is made', async () => {
    const model = chunkModel(chunksByTurn(bad, good, textChunks('done')))
    const { task } = await createTestTroupe({ model, agents: [worker], tools: [look] })
    expect((await task('worker', 'go')).status).toBe('completed')
    const [, second, third] = model.requests
    expect(second && lastMessageText(second)).toMatch(/invalid arguments for look: n: .*number/)
    expect(third && lastMessageText(third)).toBe('3')
  })

  test('U3 arguments that are not JSON go back as well', async () => {
    const made = toolCallChunks({ name: 'look', input: '{"n":', invalid: 'unexpected end' })
    const { answers } = await told(made, { tools: [look] })
    expect(answers[0]?.text).toContain('unexpected end')
  })

  test('U3 a second misfit in a row ends the session; one between good calls does not', async () => {
    const failing = chunkModel(chunksByTurn(bad, bad, textChunks('never')))
    const one = await createTestTroupe({ model: failing, agents: [worker], tools: [look] })
    const failed = await one.task('worker', 'go')
    expect(failed).toMatchObject({ status: 'failed', stop_reason: 'failed', error: { code: 'invalid_tool_input' } })
    expect(failing.requests).toHaveLength(2)
    const stumbling = chunkModel(chunksByTurn(bad, good, bad, good, textChunks('done')))
    const two = await createTestTroupe({ model: stumbling, agents: [worker], tools: [look] })
    expect((await two.task('worker', 'go')).status).toBe('completed')
  })

  test('U3 resumed, the model has another chance, and no call is made twice', async () => {
    const push = reads('push', () => ({ success: true, output: ++pushed }), { kind: 'act' })
    let pushed = 0
    const both = toolCallChunks({ name: 'push' }, { name: 'look', input: { n: 'x' } })
    const model = chunkModel(chunksByTurn(both, both, good, textChunks('done')))
    const { troupe, task } = await createTestTroupe({ model, agents: [worker], tools: [look, push] })
    const failed = await task('worker', 'go')
    expect(failed.status).toBe('failed')
    const resumed = await (await troupe.resume(failed.run_id)).result
    expect([resumed.status, pushed, model.requests.length]).toEqual(['completed', 2, 4])
  })

  test('U3 a new instruction starts afresh: its first misfit goes back again', async () => {
    const model = chunkModel(chunksByTurn(bad, bad, bad, good, textChunks('done')))
    const { troupe, task } = await createTestTroupe({ model, agents: [worker], tools: [look] })
    const failed = await task('worker', 'go')
    const { session_id } = failed.output as { session_id: string }
    const again = await troupe.run('task', { session_id, instruction: 'once more' })
    expect(again.status).toBe('completed')
  })
})
