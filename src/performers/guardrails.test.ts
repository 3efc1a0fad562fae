import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { chunkModel, chunksByTurn, eventData, textChunks, toolCallChunks } from '../../test/support/manual-doubles.ts'
import { agent, createTestTroupe, functionModel, lastMessageText, taskCall } from '../../test/support/test-troupe.ts'
import { TroupeError } from '../errors.ts'
import { userMessage } from '../kernel/model.ts'
import { NO_RETRIES } from '../kernel/retry-policy.ts'
import type { TroupeOptions } from '../runtime/troupe-options.ts'
import { scriptedPerformer } from '../testing/scripted-performer.ts'
import { simulatedWorld } from '../testing/simulated-world.ts'
import { defineTool } from '../tools/define-tool.ts'
import type { Hooks, ProposedAnswer, ProposedModelRequest } from './hook.ts'

const worker = agent('worker')
const lead = agent('lead')

const look = defineTool({
  name: 'look',
  description: 'look',
  input: z.object({}),
  category: 'perception',
  kind: 'read',
  execute: () => ({ success: true, output: 'a tree' }),
})

async function runWith(hooks: Hooks, responses: string[], options: TroupeOptions = {}) {
  const model = chunkModel(({ session }) => textChunks(responses[session.turn - 1] ?? 'nothing more to say'))
  const created = await createTestTroupe({ model, agents: [worker], hooks: [hooks], ...options })
  const result = await created.task('worker', 'go')
  const { response } = (result.output ?? {}) as { response?: string }
  return { ...created, model, result, response }
}

describe('beforeModel', () => {
  test('H7 a denied request is not sent, and the session fails with the reason', async () => {
    const { model, result } = await runWith({ beforeModel: () => ({ deny: 'over the quota' }) }, ['hi'])
    expect(model.requests).toEqual([])
    expect(result).toMatchObject({ status: 'failed', error: { code: 'denied', step: 'session/turn/1/model/hooks' } })
    expect(result.error?.message).toContain('over the quota')
  })

  test('H7 a resumed run asks again', async () => {
    let allowed = false
    const hooks: Hooks = { beforeModel: () => (allowed ? undefined : { deny: 'closed' }) }
    const { troupe, result, model } = await runWith(hooks, ['hi'])
    allowed = true
    expect(await (await troupe.resume(result.run_id)).result).toMatchObject({ status: 'completed' })
    expect(model.requests).toHaveLength(1)
  })

  test('H8 the model gets the changed request, and the next one starts from the conversation again', async () => {
    const seen: ProposedModelRequest[] = []
    const redact: Hooks = {
      beforeModel(request) {
        seen.push(request)
        return request.turn === 1
          ? { request: { messages: [userMessage('redacted')], settings: { temperature: 0.5 } } }
          : undefined
      },
    }
    const brand: Hooks = { beforeModel: ({ system, turn }) => ({ request: { system: `${system} Turn ${turn}.` } }) }
    const model = chunkModel(chunksByTurn(toolCallChunks({ name: 'look' }), textChunks('done')))
    const { troupe, task } = await createTestTroupe({ model, agents: [worker], tools: [look], hooks: [redact, brand] })
    const { run_id, status } = await task('worker', 'call 555-1234')
    expect(status).toBe('completed')
    expect(model.requests[0]).toMatchObject({ system: 'You are worker. Turn 1.', settings: { temperature: 0.5 } })
    expect(JSON.stringify(model.requests[0]?.messages)).not.toContain('555')
    expect(model.requests[1]?.system).toBe('You are worker. Turn 2.')
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('555')
    expect(seen[0]).toMatchObject({ run_id, agent: 'worker', turn: 1, system: 'You are worker.', model: model.name })
    expect(seen[0]?.tools).toContain('look')
    const [first] = eventData(await troupe.events(run_id).all(), 'model:begin')
    expect(first?.reserved.tokens).toBeGreaterThan(JSON.stringify(model.requests[0]?.messages).length)
  })

  test('H8 requests of sub-sessions and of summaries are asked about too', async () => {
    const asked: string[] = []
    const hooks: Hooks = { beforeModel: ({ agent: name, phase = 'turn' }) => void asked.push(`${name} ${phase}`) }
    const delegate = chunkModel(({ session }) =>
      session.agent === 'lead' && session.turn === 1 ? toolCallChunks(taskCall('worker', 'x')) : textChunks('ok'),
    )
    const { task } = await createTestTroupe({ model: delegate, agents: [lead, worker], hooks: [hooks] })
    await task('lead', 'go')
    expect(asked).toEqual(['lead turn', 'worker turn', 'lead turn'])
    asked.length = 0
    const page = { ...look, execute: () => ({ success: true, output: 'lorem ipsum '.repeat(100) }) }
    const reading = functionModel(
      ({ session: { agent: name, turn } }) =>
        name === 'summary' || turn > 30 ? { text: 'ok' } : { calls: [{ name: 'look', input: {} }] },
      ({ messages }) => Math.ceil(JSON.stringify(messages).length / 4),
    )
    const model = { ...reading, limits: { context: 2000 } }
    const long = await createTestTroupe({
      model,
      agents: [agent('worker', { tools: ['look'] })],
      tools: [page],
      hooks: [hooks],
    })
    await long.task('worker', 'go')
    expect(asked).toContain('worker summary')
  })

  test('H11 a hook that throws or returns an invalid change sends nothing; a resumed run asks again', async () => {
    const failing: Required<Pick<Hooks, 'beforeModel'>>['beforeModel'][] = [
      () => Promise.reject(new Error('no policy server')),
      () => Promise.reject(new TroupeError('run_busy', 'the run of the policy is busy')),
      () => ({ request: { messages: [] } }),
      () => ({ request: { system: 7 as never } }),
      () => false as never,
      () => ({ deny: undefined as never }),
      () => ({ denied: 'no' }) as never,
    ]
    for (const beforeModel of failing) {
      const hooks: Hooks = { beforeModel }
      const { model, result, troupe } = await runWith(hooks, ['hi'])
      expect(model.requests).toEqual([])
      expect(result).toMatchObject({ status: 'failed', error: { code: 'hook_failed', responsible: 'developer' } })
      hooks.beforeModel = () => undefined
      expect((await (await troupe.resume(result.run_id)).result).status).toBe('completed')
    }
  })
})

describe('beforeAnswer', () => {
  test('H9 a rejected answer goes back with the reason, and the next one is judged again', async () => {
    const seen: ProposedAnswer[] = []
    const hooks: Hooks = {
      beforeAnswer(answer) {
        seen.push(answer)
        return answer.text.includes('source') ? undefined : { deny: 'name a source' }
      },
    }
    const { model, result, response } = await runWith(hooks, ['42', '42, source: a book'])
    expect([result.status, response]).toEqual(['completed', '42, source: a book'])
    expect(model.requests[1] && lastMessageText(model.requests[1])).toContain('name a source')
    expect(seen).toMatchObject([
      { agent: 'worker', turn: 1, depth: 0, text: '42' },
      { turn: 2, text: '42, source: a book' },
    ])
  })

  test('H9 after two more rejections the session fails without the text, and a resume asks about the last answer', async () => {
    let strict = true
    const hooks: Hooks = { beforeAnswer: () => (strict ? { deny: 'no' } : undefined) }
    const { model, result, response, troupe } = await runWith(hooks, ['one', 'two', 'three', 'four'])
    expect([model.requests.length, response]).toEqual([3, ''])
    expect(result).toMatchObject({ status: 'failed', error: { code: 'denied', step: 'session/turn/3/answer' } })
    strict = false
    const resumed = await (await troupe.resume(result.run_id)).result
    expect(resumed).toMatchObject({ status: 'completed', output: { response: 'three' } })
    expect(model.requests).toHaveLength(3)
  })

  test('H9 a rejected answer is in no partial result: not after a failure, not after a cancellation', async () => {
    const model = chunkModel(({ session }) => {
      if (session.turn > 1) throw new Error('down')
      return textChunks('the secret')
    })
    const deny: Hooks = { beforeAnswer: () => ({ deny: 'secret' }) }
    const failed = await runWith(deny, [], { model, engine: { retryPolicy: NO_RETRIES } })
    expect([failed.result.status, failed.response]).toEqual(['failed', ''])
    const asked = Promise.withResolvers<void>()
    const hanging: Hooks = { beforeAnswer: () => new Promise<never>(() => asked.resolve()) }
    const { troupe } = await createTestTroupe({ model, agents: [worker], hooks: [hanging] })
    const handle = await troupe.stream('task', { agent: 'worker', instruction: 'go' })
    await asked.promise
    const cancelled = await handle.cancel()
    expect(cancelled).toMatchObject({ status: 'cancelled', output: { response: '' } })
  })

  test('H10 a replaced text is the answer; hooks see it one after the other', async () => {
    const mask: Hooks = { beforeAnswer: ({ text }) => ({ text: text.replace(/\d+/, '***') }) }
    const shout: Hooks = { beforeAnswer: ({ text }) => ({ text: text.toUpperCase() }) }
    const model = chunkModel(() => textChunks('pin 1234'))
    const { task } = await createTestTroupe({ model, agents: [worker], hooks: [mask, shout] })
    expect((await task('worker', 'go')).output).toMatchObject({ response: 'PIN ***' })
    const empty = await runWith({ beforeAnswer: () => ({ text: ' ' }) }, ['hi'])
    expect(empty.result).toMatchObject({ status: 'failed', error: { code: 'hook_failed' } })
  })

  test('H11 a hook that throws lets no answer pass; a resumed run asks again', async () => {
    const hooks: Hooks = { beforeAnswer: () => Promise.reject(new Error('no policy server')) }
    const { result, response, troupe, model } = await runWith(hooks, ['hi'])
    expect(result).toMatchObject({ status: 'failed', error: { code: 'hook_failed' } })
    expect([result.error?.message, response]).toEqual([expect.stringContaining('no policy server'), ''])
    hooks.beforeAnswer = () => undefined
    const resumed = await (await troupe.resume(result.run_id)).result
    expect([resumed.output, model.requests.length]).toMatchObject([{ response: 'hi' }, 1])
  })

  test('H11 a verdict that is none lets no answer pass', async () => {
    for (const verdict of [true, false, { deny: undefined }, { text: undefined }, { answer: 'hi' }]) {
      const { result, response } = await runWith({ beforeAnswer: () => verdict as never }, ['hi'])
      expect([result.error?.code, response]).toEqual(['hook_failed', ''])
      expect(result.error?.message).toContain('`hooks[].beforeAnswer` returned')
    }
  })

  test('H11 a hook that never returns times out after two minutes', async () => {
    for (const name of ['beforeModel', 'beforeAnswer'] as const) {
      const world = simulatedWorld(1)
      const hooks: Hooks = { [name]: () => new Promise<never>(() => {}) }
      const model = chunkModel(() => textChunks('hi'))
      const { task } = await createTestTroupe({ model, agents: [worker], hooks: [hooks], engine: { world } })
      const result = await world.runUntil(task('worker', 'go'))
      expect(result).toMatchObject({ status: 'failed', error: { code: 'hook_failed' } })
      expect(result.duration_ms).toBe(120_000)
    }
  })
})

describe('an external performer', () => {
  const remote = agent('remote', { performer: 'scripted' })
  const finish = { do: 'finish', result: { stop: 'completed', text: 'pin 1234' } } as const

  test('H13 its answer is judged too: a replaced text is the answer, a rejected one ends the session', async () => {
    const performer = scriptedPerformer({ actions: [finish] })
    const hooks: Hooks = { beforeAnswer: ({ text }) => ({ text: text.replace(/\d+/, '***') }) }
    const { troupe, task } = await createTestTroupe({
      agents: [remote],
      performers: { scripted: performer },
      hooks: [hooks],
    })
    expect((await task('remote', 'go')).output).toMatchObject({ response: 'pin ***' })
    hooks.beforeAnswer = () => ({ deny: 'secret' })
    const rejected = await task('remote', 'go')
    expect(rejected).toMatchObject({ status: 'failed', error: { code: 'denied' }, output: { response: '' } })
    hooks.beforeAnswer = () => undefined
    const resumed = await (await troupe.resume(rejected.run_id)).result
    expect(resumed).toMatchObject({ status: 'completed', output: { response: 'pin 1234' } })
    expect(performer.turns).toHaveLength(2)
  })
})
