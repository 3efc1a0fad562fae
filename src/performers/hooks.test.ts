import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  chunkModel,
  chunksByTurn,
  eventData,
  flushEventLoop,
  pausableStore,
  textChunks,
  toolCallChunks,
} from '../../test/support/manual-doubles.ts'
import { agent, createTestTroupe, lastMessageText } from '../../test/support/test-troupe.ts'
import { TroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { NO_RETRIES } from '../kernel/retry-policy.ts'
import { defineTool } from '../tools/define-tool.ts'
import type { Hooks } from './hook.ts'

const worker = agent('worker')

function pushTool() {
  const calls: unknown[] = []
  const push = defineTool({
    name: 'push',
    description: 'push',
    input: z.strictObject({ to: z.string() }),
    category: 'action',
    kind: 'act',
    execute: (input) => ({ success: true, output: calls.push(input) }),
  })
  return { push, calls }
}

const pushModel = () =>
  chunkModel(chunksByTurn(toolCallChunks({ name: 'push', input: { to: 'main' } }), textChunks('done')))

describe('onEvent', () => {
  test('H1 onEvent gets every event of a run after its commit, in order', async () => {
    const seen: Event[] = []
    const { store, pause, resume } = pausableStore()
    const { troupe } = await createTestTroupe({
      store,
      model: pushModel(),
      agents: [worker],
      tools: [pushTool().push],
      hooks: [{ onEvent: (event) => void seen.push(event) }],
    })
    pause()
    const handle = await troupe.stream('task', { agent: 'worker', instruction: 'go' })
    await flushEventLoop()
    expect(seen.filter(({ seq }) => seq > 1)).toEqual([])
    resume()
    await handle.result
    expect(seen).toEqual(await troupe.events(handle.run_id).all())
  })

  test('H1 an async onEvent hook that rejects affects neither the run nor the process, and is reported', async () => {
    const warnings: unknown[] = []
    const onWarning = (warning: unknown) => void warnings.push(warning)
    process.on('warning', onWarning)
    const { task } = await createTestTroupe({
      agents: [worker],
      hooks: [{ onEvent: async () => Promise.reject(new Error('the log server is down')) }],
      model: chunkModel(() => textChunks('done')),
    })
    expect(await task('worker', 'go')).toMatchObject({ status: 'completed' })
    await flushEventLoop()
    process.off('warning', onWarning)
    expect(String(warnings[0])).toContain('the log server is down')
  })

  test('H1 an onEvent hook that throws affects neither the run nor other hooks, and is reported', async () => {
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const seen: string[] = []
    const hooks: Hooks[] = [
      {
        onEvent() {
          throw new Error('observer failed')
        },
      },
      { onEvent: (event) => void seen.push(event.type) },
    ]
    const { task, eventTypes } = await createTestTroupe({
      model: chunkModel(() => textChunks('hi')),
      agents: [worker],
      hooks,
    })
    const result = await task('worker', 'go')
    expect([result.status, seen]).toEqual(['completed', await eventTypes(result.run_id)])
    expect(warning.mock.calls[0]?.[0]).toContain('observer failed')
    warning.mockRestore()
  })
})

describe('beforeTool', () => {
  test('H2 a denied call is not made, and the model gets the reason', async () => {
    const { push, calls } = pushTool()
    const model = pushModel()
    const proposed: unknown[] = []
    const hooks: Hooks[] = [
      {
        beforeTool(call) {
          proposed.push(call)
          return { deny: 'main is frozen' }
        },
      },
    ]
    const { troupe, task } = await createTestTroupe({ model, agents: [worker], tools: [push], hooks })
    const { run_id } = await task('worker', 'go')
    expect(proposed).toMatchObject([{ run_id, agent: 'worker', tool: 'push', input: { to: 'main' } }])
    expect(model.requests[1] && lastMessageText(model.requests[1])).toMatch(/denied the call of push: main is frozen/)
    const events = await troupe.events(run_id).all()
    expect(eventData(events, 'tool:error')).toMatchObject([{ detail: { code: 'denied' } }])
    expect([eventData(events, 'tool:pre'), calls]).toEqual([[], []])
  })

  test('H3 the tool gets the changed input, and tool:pre records both inputs', async () => {
    const { push, calls } = pushTool()
    const hooks: Hooks[] = [
      { beforeTool: () => undefined },
      { beforeTool: async () => ({ input: { to: 'draft' } }) },
      { beforeTool: ({ input }) => ({ input: { to: `${(input as { to: string }).to}-2` } }) },
    ]
    const { troupe, task } = await createTestTroupe({ model: pushModel(), agents: [worker], tools: [push], hooks })
    const { run_id } = await task('worker', 'go')
    expect(calls).toEqual([{ to: 'draft-2' }])
    const [pre] = eventData(await troupe.events(run_id).all(), 'tool:pre')
    expect(pre).toMatchObject({ input: { to: 'draft-2' }, original_input: { to: 'main' } })
  })

  test('H3 an invalid input from a hook fails the call and does not count as an error of the model', async () => {
    const { push, calls } = pushTool()
    const model = chunkModel(
      chunksByTurn(...[1, 2, 3].map(() => toolCallChunks({ name: 'push', input: { to: 'main' } })), textChunks('done')),
    )
    const hooks: Hooks[] = [{ beforeTool: () => ({ input: { where: 'nowhere' } }) }]
    const { task } = await createTestTroupe({ model, agents: [worker], tools: [push], hooks })
    expect((await task('worker', 'go')).output).toMatchObject({ response: 'done' })
    expect([calls, model.requests.length]).toEqual([[], 4])
  })

  test('H2 a beforeTool hook that throws denies the call', async () => {
    for (const error of [new Error('no policy server'), new TroupeError('store_failed', 'no policy server')]) {
      const { push, calls } = pushTool()
      const model = pushModel()
      const hooks: Hooks[] = [{ beforeTool: () => Promise.reject(error) }]
      const { task } = await createTestTroupe({ model, agents: [worker], tools: [push], hooks })
      expect((await task('worker', 'go')).status).toBe('completed')
      expect(model.requests[1] && lastMessageText(model.requests[1])).toContain('no policy server')
      expect(calls).toEqual([])
    }
  })

  test('H2 a beforeTool hook that returns no valid verdict denies the call', async () => {
    for (const verdict of [true, false, { deny: undefined }, { denied: 'no' }]) {
      const { push, calls } = pushTool()
      const model = pushModel()
      const hooks: Hooks[] = [{ beforeTool: () => verdict as never }]
      const { task } = await createTestTroupe({ model, agents: [worker], tools: [push], hooks })
      expect((await task('worker', 'go')).status).toBe('completed')
      expect(model.requests[1] && lastMessageText(model.requests[1])).toContain('`hooks[].beforeTool` returned')
      expect(calls).toEqual([])
    }
  })

  test('H2 beforeTool is called for patterns too', async () => {
    const model = chunkModel(
      chunksByTurn(toolCallChunks({ name: 'task', input: { agent: 'worker', instruction: 'go' } }), textChunks('done')),
    )
    const hooks: Hooks[] = [{ beforeTool: ({ tool }) => (tool === 'task' ? { deny: 'no delegation' } : undefined) }]
    const { task } = await createTestTroupe({ model, agents: [agent('lead'), worker], hooks })
    await task('lead', 'go')
    expect(model.requests[1] && lastMessageText(model.requests[1])).toContain('no delegation')
  })
})

describe('addContext and resuming', () => {
  test('H4 added context is part of the request and the conversation, in the order of the hooks', async () => {
    const turns: unknown[] = []
    const hooks: Hooks[] = [
      {
        addContext({ agent, turn }) {
          turns.push([agent, turn])
          return turn === 1 ? 'It is Monday.' : undefined
        },
      },
      { addContext: async ({ turn }) => (turn === 1 ? 'It rains.' : '') },
    ]
    const model = pushModel()
    const { task } = await createTestTroupe({ model, agents: [worker], tools: [pushTool().push], hooks })
    await task('worker', 'go')
    expect(turns).toEqual([
      ['worker', 1],
      ['worker', 2],
    ])
    expect(model.requests[0] && lastMessageText(model.requests[0])).toBe('It is Monday.\n\nIt rains.')
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'tool'])
  })

  test('context that cannot be added ends the session, whatever its hook throws; a resumed run asks again', async () => {
    for (const thrown of [new Error('no weather'), new TroupeError('run_busy', 'the run of the weather is busy')]) {
      const hooks: Hooks = { addContext: () => Promise.reject(thrown) }
      const model = chunkModel(() => textChunks('done'))
      const { troupe, task } = await createTestTroupe({ model, agents: [worker], hooks: [hooks] })
      const failed = await task('worker', 'go')
      expect([failed.status, model.requests]).toEqual(['failed', []])
      hooks.addContext = () => 'It rains.'
      const { status } = await (await troupe.resume(failed.run_id)).result
      expect([status, model.requests.length]).toEqual(['completed', 1])
    }
  })

  test('H5 a resumed run does not call hooks again for recorded decisions', async () => {
    const { push, calls } = pushTool()
    const hookCalls: string[] = []
    const hooks: Hooks[] = [
      {
        beforeTool({ input }) {
          hookCalls.push('tool')
          return (input as { to: string }).to === 'main' ? { deny: 'frozen' } : { input: { to: 'changed' } }
        },
        addContext({ turn }) {
          hookCalls.push(`turn ${turn}`)
          return `context ${turn}`
        },
      },
    ]
    let broken = true
    const two = ['main', 'draft'].map((to) => ({ name: 'push', input: { to } }))
    const model = chunkModel(({ session }) => {
      if (session.turn === 1) return toolCallChunks(...two)
      if (broken) throw new Error('down')
      return textChunks('done')
    })
    const options = { agents: [worker], tools: [push], hooks, engine: { retryPolicy: NO_RETRIES } }
    const { troupe, task } = await createTestTroupe({ model, ...options })
    const failed = await task('worker', 'go')
    expect(failed.status).toBe('failed')
    broken = false
    const resumed = await (await troupe.resume(failed.run_id)).result
    expect(resumed.status).toBe('completed')
    expect(hookCalls).toEqual(['turn 1', 'tool', 'tool', 'turn 2'])
    expect(calls).toEqual([{ to: 'changed' }])
    expect(model.requests[2]?.messages).toEqual(model.requests[1]?.messages)
  })
})
