import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  agent,
  createTestTroupe,
  functionModel,
  lastMessageText,
  lastResultSessionId,
} from '../../../test/support/test-troupe.ts'
import { defineTool } from '../../index.ts'
import type { ModelRequest } from '../../kernel/model.ts'

const lead = agent('lead')
const helper = agent('helper')
const inBackground = {
  calls: [{ name: 'task', input: { agent: 'helper', instruction: 'dig', background: true } }],
}

test('TK18 a background task returns at once, and task_result waits for its result', async () => {
  const collecting = Promise.withResolvers<void>()
  const model = functionModel(async (request) => {
    const { agent: name, turn } = request.session
    if (name === 'helper') {
      await collecting.promise
      return { text: 'found' }
    }
    if (turn === 1) return inBackground
    if (turn === 2) {
      expect(lastMessageText(request)).toContain('"status":"running"')
      const session_id = lastResultSessionId(request)
      return { calls: [{ name: 'task_result', input: { session_id, wait: false } }] }
    }
    if (turn === 3) {
      expect(lastMessageText(request)).toContain('"status":"running"')
      collecting.resolve()
      return { calls: [{ name: 'task_result', input: { session_id: lastResultSessionId(request) } }] }
    }
    return { text: lastMessageText(request) }
  })
  const { task } = await createTestTroupe({ model, agents: [lead, helper] })
  const result = await task('lead', 'go')
  expect((result.output as { response: string }).response).toContain('"response":"found"')
  expect(result.usage.calls).toBe(5)
})

test('TK19 results that were never collected are handed to the caller, who has the last word', async () => {
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    if (name === 'helper') return { text: 'found' }
    if (turn === 1) return inBackground
    return turn === 2 ? { text: 'I am done' } : { text: `now I know: ${lastMessageText(request)}` }
  })
  const { task } = await createTestTroupe({ model, agents: [lead, helper] })
  const { response } = (await task('lead', 'go')).output as { response: string }
  expect(response).toContain('now I know')
  expect(response).toContain('"response":"found"')
})

test('TK20 a background task goes on after a restart, also when its call had long been answered', async () => {
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    if (name === 'helper') {
      const calls = [{ name: 'ask_user', input: { question: 'where?' } }]
      return turn === 1 ? { calls } : { text: `dug ${lastMessageText(request)}` }
    }
    if (turn === 1) return inBackground
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

test('TK21 the first task of a run and a resumed session cannot be in the background', async () => {
  const { troupe } = await createTestTroupe({ model: functionModel(() => ({ text: 'x' })), agents: [lead] })
  const result = await troupe.run('task', { agent: 'lead', instruction: 'x', background: true })
  expect(result.error).toMatchObject({ code: 'invalid_input' })
})

test('TK22 task_result brings the result of any earlier session again; an unknown id lists what is known', async () => {
  let wanted = ''
  const model = functionModel((request) => {
    if (request.session.agent === 'helper') return { text: 'old result' }
    const calls = [{ name: 'task_result', input: { session_id: wanted } }]
    return request.session.turn === 1 ? { calls } : { text: lastMessageText(request) }
  })
  const { task } = await createTestTroupe({ model, agents: [lead, helper] })
  const earlier = (await task('helper', 'x')).output as { session_id: string }
  wanted = earlier.session_id
  expect(((await task('lead', 'go')).output as { response: string }).response).toContain('old result')
  wanted = 'nonsense'
  expect(((await task('lead', 'go')).output as { response: string }).response).toContain('unknown_session')
})

test('TK23 with cache, the same task is answered from the earlier session, in this run and in later ones', async () => {
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

test('TK24 a task whose agent could act is never answered from the cache', async () => {
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

test('A21 an agent set up for the background does not keep its caller waiting, unless the call says otherwise', async () => {
  const digger = agent('digger', { background: true })
  const asked = async (more: object) => {
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
  expect(await asked({})).toContain('"status":"running"')
  expect(await asked({ background: true })).toContain('"status":"running"')
  expect(await asked({ background: false })).toContain('"response":"found"')
})

test('A21 such an agent works in the foreground as the first of a run, and when its session is resumed', async () => {
  const digger = agent('digger', { background: true })
  let old = ''
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    if (name === 'digger') return { text: `found ${turn}` }
    const calls = [{ name: 'task', input: { session_id: old, instruction: 'again' } }]
    return turn === 1 ? { calls } : { text: lastMessageText(request) }
  })
  const { task } = await createTestTroupe({ model, agents: [lead, digger] })
  const first = (await task('digger', 'dig')).output as { session_id: string; response: string }
  expect(first.response).toBe('found 1')
  old = first.session_id
  expect(((await task('lead', 'go')).output as { response: string }).response).toContain('"response":"found 2"')
})

test('A22 an initial prompt stands before the first instruction of a run’s first agent, and nowhere else', async () => {
  const scout = agent('scout', { initial_prompt: 'Look around first.' })
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    const calls = [{ name: 'task', input: { agent: 'scout', instruction: 'go' } }]
    return name === 'lead' && turn === 1 ? { calls } : { text: 'done' }
  })
  const { task, troupe } = await createTestTroupe({ model, agents: [lead, scout] })
  const heard = () =>
    lastMessageText(model.requests.findLast(({ session }) => session.agent === 'scout') as ModelRequest)
  const first = (await task('scout', 'go')).output as { session_id: string }
  expect(heard()).toBe('Look around first.\n\ngo')
  await troupe.run('task', { session_id: first.session_id, instruction: 'on' })
  expect(heard()).toBe('on')
  await task('lead', 'x')
  expect(heard()).toBe('go')
})

test('A23 the effort of an agent is a setting of its model calls', async () => {
  const model = functionModel(() => ({ text: 'done' }))
  const { task } = await createTestTroupe({ model, agents: [agent('thinker', { effort: 'high' }), lead] })
  await task('thinker', 'x')
  await task('lead', 'x')
  expect(model.requests.map(({ settings }) => settings.effort)).toEqual(['high', undefined])
})
