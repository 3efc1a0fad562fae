import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  chunkModel,
  chunksByTurn,
  flushEventLoop,
  textChunks,
  toolCallChunks,
} from '../../test/support/manual-doubles.ts'
import { countingTools, crashingStore, expectReplayMatches } from '../../test/support/replay-harness.ts'
import {
  agent,
  agents,
  createTestTroupe,
  functionModel,
  lastMessageText,
  lastResultSessionId,
  modelFromRules,
  runToEnd,
  storeOf,
  taskCall,
} from '../../test/support/test-troupe.ts'
import type { TroupeError } from '../errors.ts'
import { createTroupe, defineTool } from '../index.ts'

describe('CA12 stored runs replay to the same journal', () => {
  test('CA12 a completed run with delegation, a resumed session, tools and failures', async () => {
    const { toolCalls, tools } = countingTools()
    const model = functionModel((request) => {
      const { agent: name, turn } = request.session
      if (name === 'lead' && turn === 1) return { calls: [taskCall('coder', 'a'), taskCall('critic', 'b')] }
      if (name === 'lead' && turn === 2)
        return { calls: [{ name: 'task', input: { session_id: lastResultSessionId(request), instruction: 'again' } }] }
      if (name === 'lead' && turn === 3)
        return { calls: [taskCall('stranger', 'x'), { name: 'task', input: { session_id: 'none', instruction: 'x' } }] }
      if (name === 'lead') return { text: 'done' }
      if (turn === 1)
        return {
          calls: [
            { name: 'look', input: { text: name } },
            { name: 'send', input: { text: 'fail' } },
            { name: 'no-such-tool', input: {} },
            { name: 'look', input: { text: 5 } },
          ],
        }
      return { text: `${name} read ${lastMessageText(request).length}` }
    })
    const { troupe, task } = await createTestTroupe({ agents, tools, model })
    const result = await task('lead', 'go')
    expect(result.status).toBe('completed')
    const calls = toolCalls.length
    await expectReplayMatches(storeOf(troupe), result.run_id, { tools })
    await expectReplayMatches(storeOf(troupe), result.run_id)
    expect(toolCalls).toHaveLength(calls)
  })

  test('CA12 runs that crashed at any point and were resumed', async () => {
    const { tools } = countingTools()
    const model = () =>
      functionModel(({ session: { agent: name, turn } }) => {
        if (name === 'lead' && turn === 1) return { calls: [taskCall('coder', 'a'), taskCall('critic', 'b')] }
        if (name === 'lead') return { text: 'done' }
        return turn === 1 ? { calls: [{ name: 'send', input: { text: name } }] } : { text: 'ok' }
      })
    for (let after = 1; after < 30; after++) {
      const { store, revive } = crashingStore(after)
      const crashing = await createTroupe({ store, agents, tools, model: model() })
      const handle = await crashing.stream('task', { agent: 'lead', instruction: 'go' })
      await handle.result.catch(() => {})
      revive()
      await expectReplayMatches(store, handle.run_id, { tools })
      const resumed = await createTroupe({ store, agents, tools, model: model() })
      const result = await (await resumed.resume(handle.run_id)).result
      expect(result.status).toBe('completed')
      await expectReplayMatches(store, handle.run_id, { tools })
    }
  })

  test('CA12 a waiting run, an answered question, and an answered permission request', async () => {
    const { toolCalls, tools } = countingTools()
    const model = functionModel(({ session: { agent: name, turn } }) => {
      if (name === 'lead' && turn === 1) return { calls: [taskCall('coder', 'a'), taskCall('critic', 'b')] }
      if (name === 'coder' && turn === 1) return { calls: [{ name: 'ask_user', input: { question: 'which?' } }] }
      if (name === 'critic' && turn === 1) return { calls: [{ name: 'send', input: { text: 'x' } }] }
      return { text: `${name} done` }
    })
    const permissions = { ask: ['send'] }
    const { troupe, task } = await createTestTroupe({ agents, tools, model, permissions })
    const waiting = await task('lead', 'go')
    expect(waiting.status).toBe('waiting')
    await expectReplayMatches(storeOf(troupe), waiting.run_id, { tools, permissions })
    for (const gate of await troupe.gates().all()) {
      const answer = gate.question.startsWith('May') ? 'allow' : 'the red one'
      await (await troupe.answer(gate.gate_id, answer, { by: 'ann' })).result
      await expectReplayMatches(storeOf(troupe), waiting.run_id, { tools, permissions })
    }
    expect((await troupe.result(waiting.run_id)).status).toBe('completed')
    expect(toolCalls).toEqual(['send x'])
  })

  test('CA12 a run cancelled during model requests and tool calls', async () => {
    const stuck = defineTool({
      name: 'stuck',
      description: 'never ends',
      kind: 'act',
      category: 'action',
      input: z.object({}),
      execute: (_input, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    const model = chunkModel(({ session: { agent: name, turn } }) => {
      if (name === 'lead' && turn === 1)
        return toolCallChunks(taskCall('coder', 'a'), taskCall('critic', 'b'), taskCall('coder', 'c'))
      if (name === 'coder') return turn === 1 ? toolCallChunks({ name: 'stuck' }) : textChunks('no')
      return new Promise<never>(() => {})
    })
    const { troupe } = await createTestTroupe({ agents, tools: [stuck], model })
    const handle = await troupe.stream('task', { agent: 'lead', instruction: 'go' })
    await flushEventLoop(20)
    const cancelled = await troupe.cancel(handle.run_id, 'enough')
    expect(cancelled.status).toBe('cancelled')
    await expectReplayMatches(storeOf(troupe), handle.run_id, { tools: [stuck] })
    await expectReplayMatches(storeOf(troupe), handle.run_id)
  })

  test('CA12 runs that failed, and were reopened with more', async () => {
    let broken = true
    const model = chunkModel(({ session: { agent: name, turn } }) => {
      if (name === 'lead' && turn === 1) return toolCallChunks(taskCall('coder', 'a'))
      if (name === 'lead' && broken) throw new Error('the provider is down')
      return textChunks(`${name} done`)
    })
    const none = { retryPolicy: { ready: () => undefined, next: () => undefined } }
    const { troupe, task } = await createTestTroupe({ agents, model, engine: none, limits: { calls: 3 } })
    const failed = await task('lead', 'go')
    expect(failed.status).toBe('failed')
    await expectReplayMatches(storeOf(troupe), failed.run_id)
    broken = false
    const limited = await (await troupe.resume(failed.run_id)).result
    expect(limited).toMatchObject({ status: 'failed', error: { code: 'limit_reached' } })
    await expectReplayMatches(storeOf(troupe), failed.run_id)
    const done = await (await troupe.resume(failed.run_id, { limits: { calls: 9 } })).result
    expect(done.status).toBe('completed')
    await expectReplayMatches(storeOf(troupe), failed.run_id)
  })

  test('CA12 retried requests, refusals, and unknown models', async () => {
    const team = [agent('lead'), agent('coder', { model: 'unknown/none' }), agent('critic')]
    const retryPolicy = {
      ready: () => undefined,
      next: ({ model, error, attempts }: { model: string; error: TroupeError; attempts: number }) =>
        error.retry && attempts < 3 ? { model, delay_ms: 1 } : undefined,
    }
    const model = modelFromRules(
      { when: { agent: 'lead', turn: 1 }, times: 1, reply: { error: { status: 503, message: 'busy' } } },
      { when: { agent: 'lead', turn: 1 }, reply: { toolCalls: [taskCall('coder', 'a'), taskCall('critic', 'b')] } },
      { when: { agent: 'critic' }, reply: { text: 'no', stop: 'refusal' } },
      { reply: { text: 'done' } },
    )
    const { troupe, task } = await createTestTroupe({ agents: team, model, engine: { retryPolicy } })
    const result = await task('lead', 'go')
    expect(result.status).toBe('completed')
    await expectReplayMatches(storeOf(troupe), result.run_id)
  })

  test('CA12 nested sessions that timed out', async () => {
    const team = [agent('lead'), agent('coder', { timeout_ms: 40 }), agent('critic', { timeout_ms: 20_000 })]
    const model = chunkModel(({ session: { agent: name, turn } }) => {
      if (name === 'lead' && turn === 1) return toolCallChunks(taskCall('coder', 'a'), taskCall('critic', 'b'))
      if (name === 'coder' && turn === 1) return toolCallChunks(taskCall('critic', 'below'))
      if (name === 'critic' && turn === 1) return textChunks('quick')
      return name === 'lead' ? textChunks('done') : new Promise<never>(() => {})
    })
    const { troupe, task } = await createTestTroupe({ agents: team, model, limits: { depth: 2 } })
    const result = await task('lead', 'go')
    expect(result.status).toBe('completed')
    expect(JSON.stringify(await troupe.events(result.run_id).all())).toContain('"timeout"')
    await expectReplayMatches(storeOf(troupe), result.run_id)
  })

  test('CA12 background sessions, hooks that add context or change input, and a session of another run', async () => {
    const { tools } = countingTools()
    const model = functionModel((request) => {
      const { agent: name, turn } = request.session
      if (name === 'lead' && turn === 1)
        return { calls: [taskCall('coder', 'a', { background: true }), taskCall('critic', 'b')] }
      if (name === 'lead' && turn === 2) return { calls: [{ name: 'look', input: { text: 'first' } }] }
      if (name === 'lead' && turn === 3) return { text: 'not yet' }
      return { text: `${name} ${turn}: ${lastMessageText(request).slice(0, 20)}` }
    })
    const hooks = [
      {
        addContext: ({ turn }: { turn: number }) => (turn === 2 ? 'remember the milk' : undefined),
        beforeTool: ({ tool }: { tool: string }) =>
          tool === 'look' ? { input: { text: 'changed' } } : tool === 'critic' ? { deny: 'no' } : undefined,
      },
    ]
    const { troupe, task } = await createTestTroupe({ agents, tools, model, hooks })
    const first = await task('lead', 'go')
    expect(first.status).toBe('completed')
    await expectReplayMatches(storeOf(troupe), first.run_id, { tools })
    const { session_id } = first.output as { session_id: string }
    const second = await troupe.run('task', { session_id, instruction: 'and now?' })
    expect(second.status).toBe('completed')
    await expectReplayMatches(storeOf(troupe), second.run_id, { tools })
    const third = await runToEnd(troupe, 'task', { session_id: `${session_id}-not`, instruction: 'and now?' })
    expect(third.status).toBe('failed')
    await expectReplayMatches(storeOf(troupe), third.run_id, { tools })
  })

  test('CA12 a compacted conversation', async () => {
    const look = toolCallChunks({ name: 'look', input: { text: 'x'.repeat(400) } }).slice(0, 1)
    const uncounted = [...look, { type: 'finish' as const, stop: 'tool_calls' as const }]
    const model = chunkModel(chunksByTurn(...Array.from({ length: 12 }, () => uncounted), textChunks('done')))
    const small = { ...model, limits: { context: 2000 } }
    const { tools } = countingTools()
    const { troupe, task } = await createTestTroupe({ agents, tools, model: small, models: { summary: 'manual' } })
    const result = await task('lead', 'go')
    expect(await troupe.events(result.run_id).all()).toContainEqual(
      expect.objectContaining({ type: 'session:compress' }),
    )
    await expectReplayMatches(storeOf(troupe), result.run_id, { tools })
  })
})
