import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  chunkModel,
  chunksByTurn,
  eventData,
  flushEventLoop,
  patternFrom,
  textChunks,
  toolCallChunks,
} from '../../../test/support/manual-doubles.ts'
import { memoryStore } from '../../../test/support/memory-store.ts'
import { agent, createTestTroupe, lastMessageText, runToEnd } from '../../../test/support/test-troupe.ts'
import { createTroupe } from '../../runtime/troupe.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { effectiveTools } from '../agent.ts'
import { sessionId } from './session-state.ts'

const readTool = (name: string) =>
  defineTool({
    name,
    description: name,
    input: z.object({}),
    category: 'perception',
    kind: 'read',
    execute: () => ({ success: true, output: `result of ${name}` }),
  })
const tools = ['look', 'listen', 'smell'].map(readTool)
const delegate = (to: string, more: object = {}) =>
  toolCallChunks({ name: 'task', input: { agent: to, instruction: 'go', ...more } })

interface TaskOutput {
  session_id: string
  response: string
}
const taskOutput = (result: { output: unknown }) => result.output as TaskOutput

describe('session ids', () => {
  test('S1 a session id is parent span, own span and agent, with zeros as parent of a root session', () => {
    const root = sessionId({ run_id: 'r_1', key: 'session', agent: 'lead', parent: null })
    expect(root).toMatch(/^0{16}-[0-9a-f]{16}_lead$/)
    const child = sessionId({ run_id: 'r_1', key: 'session/turn/1/tool/0/session', agent: 'helper', parent: root })
    expect(child).toMatch(/^[0-9a-f]{16}-[0-9a-f]{16}_helper$/)
    expect(child.slice(0, 16)).toBe(root.slice(17, 33))
  })

  test('S1 a session id is derived from run and key, and the agent name is sanitised', () => {
    const id = (run_id: string, key: string, agent = 'a') => sessionId({ run_id, key, agent, parent: null })
    expect(id('r_1', 'x')).toBe(id('r_1', 'x'))
    expect(new Set([id('r_1', 'x'), id('r_2', 'x'), id('r_1', 'y')]).size).toBe(3)
    expect(id('r', 'x', 'Code Reviewer/2_b').split('_')[1]).toBe('Code-Reviewer-2-b')
    expect(id('r', 'x', '--odd--').split('_')[1]).toBe('odd')
  })

  test('S1 the ids of sub-sessions start with the span of their parent', async () => {
    const model = chunkModel(({ session }) =>
      session.agent === 'lead' && session.turn === 1 ? delegate('helper') : textChunks('done'),
    )
    const { troupe, task } = await createTestTroupe({ model, agents: [agent('lead'), agent('helper')] })
    const { run_id } = await task('lead', 'go')
    const rows = await troupe.sessions({ run_id }).all()
    const [helper, lead] = [rows.find((row) => row.agent === 'helper'), rows.find((row) => row.agent === 'lead')]
    expect(helper?.parent_session_id).toBe(lead?.session_id)
    expect(helper?.session_id.slice(0, 16)).toBe(lead?.session_id.slice(17, 33))
  })
})

describe('resuming a session', () => {
  test('S2 a session resumed in a later run keeps its prompt, model, tools, depth and conversation', async () => {
    const store = memoryStore()
    const first = chunkModel(({ session }) => {
      if (session.agent === 'lead') return session.turn === 1 ? delegate('helper') : textChunks('lead done')
      return session.turn === 1 ? toolCallChunks({ name: 'look' }) : textChunks('I saw it.')
    })
    const before = agent('helper', { instructions: 'You are the old helper.', tools: ['look'], temperature: 0.5 })
    const one = await createTestTroupe({ store, model: first, agents: [agent('lead'), before], tools })
    const { run_id } = await one.task('lead', 'go')
    const helper = (await one.troupe.sessions({ run_id }).all()).find((row) => row.agent === 'helper')
    const second = chunkModel(() => textChunks('As I said.'))
    const after = agent('helper', { instructions: 'You are new.', tools: ['smell'] })
    const two = await createTestTroupe({ store, model: second, agents: [after], tools, limits: { depth: 5 } })
    const result = await two.troupe.run('task', { session_id: helper?.session_id, instruction: 'What did you see?' })
    expect(taskOutput(result)).toMatchObject({ session_id: helper?.session_id, response: 'As I said.', turn_count: 2 })
    const [request] = second.requests
    expect(request?.system).toBe('You are the old helper.')
    expect(request?.settings.temperature).toBe(0.5)
    expect(request?.tools.map(({ name }) => name)).toEqual(['look'])
    expect(request?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
    expect(request && lastMessageText(request)).toBe('What did you see?')
    const [row] = (await two.troupe.sessions({ run_id: result.run_id }).all()).filter((each) => each.agent === 'helper')
    expect(row).toMatchObject({ depth: 1, segment: 2 })
    const [open] = eventData(await two.troupe.events(result.run_id).all(), 'session:open')
    expect(open).toMatchObject({ depth: 1, max_depth: 1, segment: 2, base: { run_id }, path: ['lead'] })
  })

  test('S2 a resumed session keeps the model that was requested by name', async () => {
    const store = memoryStore()
    const model = chunkModel(() => textChunks('ok'))
    const named = { ...model, name: 'special' }
    const options = { store, agents: [agent('helper')] }
    const one = await createTestTroupe({ ...options, models: { resolver: { resolve: () => named } } })
    const { output } = await one.task('helper', 'go', { model: 'special' })
    const resolved: (string | undefined)[] = []
    const two = await createTestTroupe({
      ...options,
      models: {
        resolver: {
          resolve(name) {
            resolved.push(name)
            return named
          },
        },
      },
    })
    await two.troupe.run('task', { session_id: taskOutput({ output }).session_id, instruction: 'more' })
    expect(resolved).toEqual(['special'])
  })

  test('S3 a session in use by one run is busy for others until that run ends', async () => {
    const gate = Promise.withResolvers<void>()
    let turns = 0
    const model = chunkModel(() => (++turns === 2 ? gate.promise.then(() => textChunks('held')) : textChunks('free')))
    const { troupe, task } = await createTestTroupe({ model, agents: [agent('helper')] })
    const { session_id } = taskOutput(await task('helper', 'go'))
    const again = { session_id, instruction: 'again' }
    const holding = await troupe.stream('task', again)
    while (turns < 2) await flushEventLoop(1)
    const refused = await runToEnd(troupe, 'task', again)
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'session_busy', retry: true } })
    expect(refused.error?.message).toContain(holding.run_id)
    gate.resolve()
    expect((await holding.result).status).toBe('completed')
    expect((await troupe.run('task', again)).status).toBe('completed')
  })

  test('S3 a session cannot be resumed twice at the same time in one run', async () => {
    const { troupe, task } = await createTestTroupe({
      model: chunkModel(({ session, messages }) => {
        if (session.agent === 'helper') return textChunks('here')
        if (session.turn === 1) return toolCallChunks({ name: 'task', input: { agent: 'helper', instruction: 'go' } })
        const session_id = /[0-9a-f-]+_helper/.exec(JSON.stringify(messages))?.[0]
        const resume = { name: 'task', input: { session_id, instruction: 'x' } }
        return session.turn === 2 ? toolCallChunks(resume, resume) : textChunks('done')
      }),
      agents: [agent('lead'), agent('helper')],
    })
    const { run_id } = await task('lead', 'go')
    const events = await troupe.events(run_id).all()
    expect(eventData(events, 'tool:post')).toHaveLength(2)
    expect(eventData(events, 'tool:error')).toMatchObject([{ detail: { code: 'session_busy' } }])
  })

  test('S4 open tool calls of an interrupted segment get an error result before the conversation continues', async () => {
    const begun = Promise.withResolvers<void>()
    const hang = { ...readTool('hang'), execute: () => new Promise<never>(() => begun.resolve()) }
    const model = chunkModel(
      chunksByTurn(toolCallChunks({ name: 'look', id: 'a' }, { name: 'hang', id: 'b' }), textChunks('Where were we?')),
    )
    const { troupe } = await createTestTroupe({ model, agents: [agent('helper')], tools: [...tools, hang] })
    const handle = await troupe.stream('task', { agent: 'helper', instruction: 'go' })
    await begun.promise
    const { output } = await troupe.cancel(handle.run_id)
    const resumed = await troupe.run('task', { session_id: taskOutput({ output }).session_id, instruction: 'continue' })
    expect(resumed.status).toBe('completed')
    const [, , answers, last] = model.requests[1]?.messages ?? []
    expect(answers?.content).toMatchObject([
      { id: 'a', text: 'result of look', is_error: false },
      { id: 'b', text: expect.stringContaining('interrupted'), is_error: true },
    ])
    expect(last?.role).toBe('user')
  })

  test('S5 an unknown session lists the nearest, another agent is rejected, and another project sees no sessions', async () => {
    const store = memoryStore()
    const { troupe, task } = await createTestTroupe({
      store,
      model: chunkModel(() => textChunks('x')),
      agents: [agent('helper'), agent('b')],
    })
    const { session_id } = taskOutput(await task('helper', 'go'))
    const wrong = await runToEnd(troupe, 'task', { session_id: `${session_id}x`, instruction: 'go' })
    expect(wrong.error).toMatchObject({ code: 'unknown_session', alternatives: [session_id] })
    expect(wrong.error?.hint).toContain('start a new session')
    const other = await runToEnd(troupe, 'task', { session_id, agent: 'b', instruction: 'go' })
    expect(other.error).toMatchObject({ code: 'invalid_input', alternatives: ['helper'] })
    const otherProject = await createTroupe({ store, project: 'other', model: chunkModel(() => textChunks('x')) })
    const foreign = await runToEnd(otherProject, 'task', { session_id, instruction: 'go' })
    expect(foreign.error).toMatchObject({ code: 'unknown_session', alternatives: [] })
  })

  test('S5 a run that failed with no_model can be resumed once there is a model', async () => {
    const store = memoryStore()
    const bare = await createTroupe({ store, agents: [agent('helper')] })
    const failed = await runToEnd(bare, 'task', { agent: 'helper', instruction: 'go' })
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'no_model' } })
    const { troupe } = await createTestTroupe({
      store,
      model: chunkModel(() => textChunks('here')),
      agents: [agent('helper')],
    })
    expect(await (await troupe.resume(failed.run_id)).result).toMatchObject({ status: 'completed' })
  })
})

describe('tools of an agent', () => {
  test('S6 effective tools are the listed or else the inherited ones, without exclude_tools', () => {
    const inherited = ['look', 'listen']
    expect(effectiveTools(agent('a'), inherited)).toEqual(inherited)
    expect(effectiveTools(agent('a', { exclude_tools: ['look'] }), inherited)).toEqual(['listen'])
    expect(effectiveTools(agent('a', { tools: ['smell', 'look', 'look'] }), inherited)).toEqual(['smell', 'look'])
    expect(effectiveTools(agent('a', { tools: [] }), inherited)).toEqual([])
  })

  test('S6 an agent written by a model gets only inherited tools', () => {
    const origin = { by: 'model' as const }
    expect(effectiveTools(agent('a', { origin, tools: ['smell', 'look'] }), ['look', 'listen'])).toEqual(['look'])
    expect(effectiveTools(agent('a', { origin }), ['look'])).toEqual(['look'])
  })

  test('S6 a sub-agent sees and can call only its effective tools', async () => {
    const model = chunkModel(({ session }) => {
      if (session.agent === 'lead') return session.turn === 1 ? delegate('helper') : textChunks('done')
      return session.turn === 1 ? toolCallChunks({ name: 'look' }, { name: 'listen' }) : textChunks('done')
    })
    const agents = [agent('lead', { exclude_tools: ['smell'] }), agent('helper', { exclude_tools: ['listen'] })]
    const { troupe, task } = await createTestTroupe({ model, agents, tools })
    const { run_id } = await task('lead', 'go')
    const seen = model.requests.find(({ session }) => session.agent === 'helper')?.tools.map(({ name }) => name)
    expect(seen).toEqual(['look', 'ask_user'])
    expect(eventData(await troupe.events(run_id).all(), 'tool:error')).toMatchObject([{ tool: 'listen' }])
  })
})

describe('delegation', () => {
  /** Each agent delegates to the given one on its first turn; returns the errors. */
  async function delegationErrors(to: Record<string, string>, options: Parameters<typeof createTestTroupe>[0] = {}) {
    const model = chunkModel((request) => {
      const next = to[request.session.agent]
      return next !== undefined && request.session.turn === 1 ? delegate(next) : textChunks(lastMessageText(request))
    })
    const agents = ['a', 'b', 'c'].map((name) => agent(name))
    const { troupe, task } = await createTestTroupe({ model, agents, limits: { depth: 5 }, ...options })
    const { run_id } = await task('a', 'go')
    return eventData(await troupe.events(run_id).all(), 'tool:error').map(({ detail }) => detail)
  }

  test('S7 delegating to an agent above fails with cycle_refused, which names the path', async () => {
    const [refused] = await delegationErrors({ a: 'b', b: 'c', c: 'a' })
    expect(refused).toMatchObject({ code: 'cycle_refused', message: expect.stringContaining('a → b → c → a') })
  })

  test('S7 an agent can delegate to itself up to limits.self_depth', async () => {
    expect(await delegationErrors({ a: 'self' })).toMatchObject([{ code: 'depth_exceeded' }])
    expect(await delegationErrors({ a: 'self' }, { limits: { depth: 5, self_depth: 3 } })).toMatchObject([
      { message: expect.stringContaining('a called itself 3 times, and `limits.self_depth` is 3') },
    ])
    expect(await delegationErrors({ a: 'self' }, { limits: { depth: 5, self_depth: 0 } })).toHaveLength(1)
  })

  test('S7 an agent at the depth limit has no tool to delegate with; by default sub-agents have none', async () => {
    const [refused] = await delegationErrors({ a: 'b', b: 'c' }, { limits: {} })
    expect(refused).toMatchObject({ code: 'depth_exceeded', message: expect.stringContaining('`limits.depth` is 1') })
  })

  test('S7 an agent can delegate only to its agents list', async () => {
    const agents = [agent('a', { agents: ['c'] }), agent('b'), agent('c')]
    const [refused] = await delegationErrors({ a: 'b' }, { agents })
    expect(refused).toMatchObject({ code: 'denied', alternatives: ['c'] })
  })

  test('S7 a session can start up to limits.breadth sub-sessions', async () => {
    const model = chunkModel(({ session }) => {
      if (session.agent !== 'lead' || session.turn > 1) return textChunks('done')
      return toolCallChunks(...[1, 2, 3].map(() => ({ name: 'task', input: { agent: 'helper', instruction: 'go' } })))
    })
    const options = { model, agents: [agent('lead'), agent('helper')], limits: { breadth: 2 } }
    const { troupe, task } = await createTestTroupe(options)
    const { run_id } = await task('lead', 'go')
    const events = await troupe.events(run_id).all()
    expect(eventData(events, 'tool:post')).toHaveLength(2)
    expect(eventData(events, 'tool:error')).toMatchObject([
      { detail: { code: 'limit_reached', alternatives: ['breadth'] } },
    ])
  })
})

test('J14 on resume, no new action is taken before a session that loads its model late has claimed its recorded ones', async () => {
  const store = memoryStore()
  const done: string[] = []
  const act = { ...readTool('act'), kind: 'act' as const, execute: () => ({ success: true, output: done.push('act') }) }
  const both = patternFrom('both', (context) =>
    context.parallel(['early', 'late'], 2, (name) =>
      context.perform(context.roster.get(name), { instruction: 'go' }, { key: name }),
    ),
  )
  const gate = Promise.withResolvers<void>()
  const model = chunkModel(({ session }) => {
    if (session.turn === 1) return toolCallChunks({ name: 'act' })
    return session.turn === 2 ? gate.promise.then(() => toolCallChunks({ name: 'act' })) : textChunks('done')
  })
  const resolver = {
    resolve: (name: string | undefined) => (name === 'late' ? flushEventLoop(20).then(() => model) : model),
  }
  const agents = [agent('early'), agent('late', { model: 'late' })]
  const options = { store, patterns: [both], agents, tools: [act], models: { resolver } }
  const first = await createTestTroupe(options)
  const handle = await first.troupe.stream('both', {})
  while (model.requests.length < 4) await flushEventLoop(1)
  const draining = first.troupe.drain()
  gate.resolve()
  await draining
  expect([(await handle.result).status, done.length]).toEqual(['pending', 2])
  const second = await createTestTroupe(options)
  const resumed = await (await second.troupe.resume(handle.run_id)).result
  expect([resumed.error, resumed.status, done.length]).toEqual([null, 'completed', 4])
})
