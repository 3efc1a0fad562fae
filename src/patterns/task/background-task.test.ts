import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  agent,
  createTestTroupe,
  functionModel,
  lastMessageText,
  lastResultSessionId,
  runToEnd,
  storeOf,
} from '../../../test/support/test-troupe.ts'
import { defineTool } from '../../index.ts'
import type { ModelRequest } from '../../kernel/model.ts'

const lead = agent('lead')
const helper = agent('helper')
const backgroundCall = {
  calls: [{ name: 'task', input: { agent: 'helper', instruction: 'dig', background: true } }],
}

test('TK18 a background task returns at once, and task_result waits for its result', async () => {
  const helperMayFinish = Promise.withResolvers<void>()
  const model = functionModel(async (request) => {
    const { agent: name, turn } = request.session
    if (name === 'helper') {
      await helperMayFinish.promise
      return { text: 'found' }
    }
    if (turn === 1) return backgroundCall
    if (turn === 2) {
      expect(lastMessageText(request)).toContain('"status":"running"')
      const session_id = lastResultSessionId(request)
      return { calls: [{ name: 'task_result', input: { session_id, wait: false } }] }
    }
    if (turn === 3) {
      expect(lastMessageText(request)).toContain('"status":"running"')
      helperMayFinish.resolve()
      return { calls: [{ name: 'task_result', input: { session_id: lastResultSessionId(request) } }] }
    }
    return { text: lastMessageText(request) }
  })
  const { task } = await createTestTroupe({ model, agents: [lead, helper] })
  const result = await task('lead', 'go')
  expect((result.output as { response: string }).response).toContain('"response":"found"')
  expect(result.usage.calls).toBe(5)
})

test('TK19 results that were not collected are delivered to the caller for one more turn', async () => {
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    if (name === 'helper') return { text: 'found' }
    if (turn === 1) return backgroundCall
    return turn === 2 ? { text: 'I am done' } : { text: `collected: ${lastMessageText(request)}` }
  })
  const { task } = await createTestTroupe({ model, agents: [lead, helper] })
  const { response } = (await task('lead', 'go')).output as { response: string }
  expect(response).toContain('collected')
  expect(response).toContain('"response":"found"')
})

test('TK20 a background task continues after a restart, even if its tool call had returned', async () => {
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    if (name === 'helper') {
      const calls = [{ name: 'ask_user', input: { question: 'where?' } }]
      return turn === 1 ? { calls } : { text: `dug ${lastMessageText(request)}` }
    }
    if (turn === 1) return backgroundCall
    return turn === 2 ? { text: 'waiting' } : { text: lastMessageText(request) }
  })
  const { troupe, task } = await createTestTroupe({ model, agents: [lead, helper] })
  const parked = await task('lead', 'go')
  expect(parked.status).toBe('waiting')
  expect(parked.gates[0]).toMatchObject({ question: 'where?', asked_by: 'helper' })
  const ended = await (await troupe.answer(parked.gates[0]?.gate_id ?? '', 'under the tree')).result
  expect(ended.status).toBe('completed')
  expect((ended.output as { response: string }).response).toContain('under the tree')
  expect(model.requests).toHaveLength(5)
})

test('TK21 background is rejected for the first task of a run', async () => {
  const { troupe } = await createTestTroupe({ model: functionModel(() => ({ text: 'x' })), agents: [lead] })
  const result = await runToEnd(troupe, 'task', { agent: 'lead', instruction: 'x', background: true })
  expect(result.error).toMatchObject({ code: 'invalid_input' })
})

test('TK22 task_result returns the result of an earlier session of the run; an unknown id is an error', async () => {
  let sessionId: string | undefined
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    const text = lastMessageText(request)
    if (name === 'helper') return { text: 'old result' }
    if (turn === 1) return { calls: [{ name: 'task', input: { agent: 'helper', instruction: 'x' } }] }
    const session_id = sessionId ?? /"session_id":"([^"]+)"/.exec(text)?.[1]
    return turn === 2 ? { calls: [{ name: 'task_result', input: { session_id } }] } : { text }
  })
  const { task } = await createTestTroupe({ model, agents: [lead, helper] })
  expect(((await task('lead', 'go')).output as { response: string }).response).toContain('old result')
  sessionId = 'nonsense'
  expect(((await task('lead', 'go')).output as { response: string }).response).toContain('unknown_session')
})

test('TK23 with cache, an identical task returns the earlier result, in this run and in later ones', async () => {
  const model = functionModel((request) => {
    if (request.session.agent === 'helper') return { text: `fresh ${model.requests.length}` }
    const calls = [{ name: 'task', input: { agent: 'helper', instruction: 'same', cache: true } }]
    return request.session.turn <= 2 ? { calls } : { text: lastMessageText(request) }
  })
  const { task } = await createTestTroupe({ model, agents: [lead, helper] })
  const first = (await task('lead', 'go')).output as { response: string }
  expect(first.response).toContain('"cached":true')
  await task('lead', 'go')
  expect(model.requests.filter(({ session }) => session.agent === 'helper')).toHaveLength(1)
})

test('TK51 a result of another model is not served from the cache, in task, collaborate and teams', async () => {
  const reader = agent('helper', { tools: [] })
  const verdicts = '{"verdicts":[{"condition":1,"holds":false}]}'
  const named = (name: string) =>
    Object.assign(
      functionModel(({ session }) => ({
        text: { router: verdicts, writer: 'Done.' }[session.agent] ?? `from ${name}`,
      })),
      { name },
    )
  const [small, large] = [named('small'), named('large')]
  const { troupe, task } = await createTestTroupe({ model: small, agents: [reader] })
  const other = await createTestTroupe({ store: storeOf(troupe), model: large, agents: [reader] })
  const inputs = { task: { agent: 'helper', instruction: 'same', cache: true } }
  await task('helper', 'same', { cache: true })
  const second = await other.troupe.run('task', inputs.task)
  expect(second.output?.response).toBe('from large')
  await other.troupe.run('task', inputs.task)
  expect(large.requests).toHaveLength(1)

  const together = { task: 'x', agents: ['helper'], synthesis: 'merge', structured: false, cache: true }
  await troupe.run('collaborate' as string, together)
  const { output } = await other.troupe.run('collaborate' as string, together)
  expect(JSON.stringify(output)).toContain('from large')

  const handoffs = [{ from_agent: 'writer', to_agent: 'user', condition: 'the work is finished' }]
  const team = { name: 'T', agents: [{ name: 'writer' }], handoffs, after_work_behavior: 'terminate' as const }
  const routed = (requests: readonly ModelRequest[]) =>
    requests.filter(({ session }) => session.agent === 'router').length
  await troupe.run('team', { team, message: 'Go.' })
  await troupe.run('team', { team, message: 'Go.' })
  await other.troupe.run('team', { team, message: 'Go.' })
  expect([routed(small.requests), routed(large.requests)]).toEqual([1, 1])
})

test('TK24 the cache is not used for an agent with an acting tool', async () => {
  const act = defineTool({
    name: 'act',
    description: 'acts',
    kind: 'act',
    category: 'action',
    input: z.object({}),
    execute: () => ({ success: true }),
  })
  const model = functionModel((request) => {
    if (request.session.agent === 'helper') return { text: 'fresh' }
    const calls = [{ name: 'task', input: { agent: 'helper', instruction: 'same', cache: true } }]
    return request.session.turn <= 2 ? { calls } : { text: lastMessageText(request) }
  })
  const { task } = await createTestTroupe({ model, agents: [lead, helper], tools: [act] })
  await task('lead', 'go')
  expect(model.requests.filter(({ session }) => session.agent === 'helper')).toHaveLength(2)
})

test('A21 an agent with background: true runs in the background unless the call sets background: false', async () => {
  const digger = agent('digger', { background: true })
  const taskResultFor = async (more: object) => {
    const model = functionModel((request) => {
      const { agent: name, turn } = request.session
      if (name === 'digger') return { text: 'found' }
      const calls = [{ name: 'task', input: { agent: 'digger', instruction: 'dig', ...more } }]
      return turn === 1 ? { calls } : { text: lastMessageText(request) }
    })
    const { task } = await createTestTroupe({ model, agents: [lead, digger] })
    await task('lead', 'go')
    return lastMessageText(model.requests.filter(({ session }) => session.agent === 'lead')[1] as ModelRequest)
  }
  expect(await taskResultFor({})).toContain('"status":"running"')
  expect(await taskResultFor({ background: true })).toContain('"status":"running"')
  expect(await taskResultFor({ background: false })).toContain('"response":"found"')
})

test('A21 an agent with background: true runs in the foreground as first agent and when resumed', async () => {
  const digger = agent('digger', { background: true })
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    const text = lastMessageText(request)
    if (name === 'digger') return { text: `found ${turn}` }
    if (turn === 1)
      return { calls: [{ name: 'task', input: { agent: 'digger', instruction: 'dig', background: false } }] }
    const session_id = /"session_id":"([^"]+)"/.exec(text)?.[1]
    return turn === 2 ? { calls: [{ name: 'task', input: { session_id, instruction: 'again' } }] } : { text }
  })
  const { task } = await createTestTroupe({ model, agents: [lead, digger] })
  expect(((await task('digger', 'dig')).output as { response: string }).response).toBe('found 1')
  expect(((await task('lead', 'go')).output as { response: string }).response).toContain('"response":"found 2"')
})

test('A22 initial_prompt precedes only the first instruction of the first agent of a run', async () => {
  const scout = agent('scout', { initial_prompt: 'Look around first.' })
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    const calls = [{ name: 'task', input: { agent: 'scout', instruction: 'go' } }]
    return name === 'lead' && turn === 1 ? { calls } : { text: 'done' }
  })
  const { task, troupe } = await createTestTroupe({ model, agents: [lead, scout] })
  const lastPrompt = () =>
    lastMessageText(model.requests.findLast(({ session }) => session.agent === 'scout') as ModelRequest)
  const first = (await task('scout', 'go')).output as { session_id: string }
  expect(lastPrompt()).toBe('Look around first.\n\ngo')
  await troupe.run('task', { session_id: first.session_id, instruction: 'on' })
  expect(lastPrompt()).toBe('on')
  await task('lead', 'x')
  expect(lastPrompt()).toBe('go')
})

test('A23 effort of an agent is sent with its model requests', async () => {
  const model = functionModel(() => ({ text: 'done' }))
  const { task } = await createTestTroupe({ model, agents: [agent('thinker', { effort: 'high' }), lead] })
  await task('thinker', 'x')
  await task('lead', 'x')
  expect(model.requests.map(({ settings }) => settings.effort)).toEqual(['high', undefined])
})
