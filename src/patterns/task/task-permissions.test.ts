import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import { defineTool } from '../../index.ts'
import { validateValue } from '../../schema/schema.ts'
import { task } from './task.ts'

const written: string[] = []
const write = defineTool({
  name: 'Write',
  description: 'writes',
  kind: 'act',
  category: 'action',
  input: z.object({}),
  execute() {
    written.push('x')
    return { success: true }
  },
})
const call = (name: string, input: object = {}) => ({ calls: [{ name, input }] })
const lead = agent('lead', { tools: ['task', 'task_result', 'EnterPlanMode', 'Write'] })

test('TK25 plan mode of the caller applies to a resumed session', async () => {
  written.length = 0
  let session_id = ''
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    const text = lastMessageText(request)
    if (name === 'worker') return turn % 2 === 1 ? call('Write') : { text }
    session_id ||= /"session_id":"([^"]+)"/.exec(text)?.[1] ?? ''
    if (turn === 1) return call('task', { agent: 'worker', instruction: 'write' })
    if (turn === 2) return call('EnterPlanMode')
    return turn === 3 ? call('task', { session_id, instruction: 'again' }) : { text }
  })
  const { troupe, task: run } = await createTestTroupe({ model, agents: [lead, agent('worker')], tools: [write] })
  const planned = await run('lead', 'go')
  expect(written).toHaveLength(1)
  expect(JSON.stringify(planned.output)).toContain('denied')
  const sessions = await troupe.sessions({ run_id: planned.run_id }).all()
  expect(sessions.map((session) => session.agent).sort()).toEqual(['lead', 'worker'])
})

test('TK25 resuming a session of the same agent counts towards limits.self_depth', async () => {
  let session_id = ''
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    const text = lastMessageText(request)
    session_id ||= /"session_id":"([^"]+)"/.exec(text)?.[1] ?? ''
    if (name === 'boss' && turn <= 2)
      return call('task', { agent: 'lead', instruction: turn === 1 ? 'first' : 'second' })
    return text === 'second' ? call('task', { session_id, instruction: 'x' }) : { text }
  })
  const agents = [agent('boss', { tools: ['task'] }), lead]
  const { task: run } = await createTestTroupe({ model, agents, limits: { self_depth: 0 } })
  const second = await run('boss', 'go')
  expect(JSON.stringify(second.output)).toContain('depth_exceeded')
})

test('TK2 tool:error carries the fields of the specification and the canonical tool name', async () => {
  const model = functionModel((request) =>
    request.session.turn === 1 ? call('Task', { instruction: 'x' }) : { text: 'end' },
  )
  const { troupe, task: run } = await createTestTroupe({ model, agents: [lead] })
  const result = await run('lead', 'go')
  const error = (await troupe.events(result.run_id).all()).find((event) => event.type === 'tool:error')
  const { session_id } = result.output as { session_id: string }
  expect(error?.data).toMatchObject({
    tool: 'task',
    agent: '',
    sub_session_id: expect.any(String),
    parent_session_id: session_id,
  })
})

test('TK2 events of a resumed session carry the agent’s name, not the slug in the session_id', async () => {
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    if (name !== 'lead') return { text: 'here' }
    if (turn === 1) return call('task', { agent: 'my:cool_agent', instruction: 'x' })
    const session_id = /"session_id":"([^"]+)"/.exec(lastMessageText(request))?.[1]
    return turn === 2 ? call('task', { session_id, instruction: 'y' }) : { text: 'end' }
  })
  const { troupe, task: run } = await createTestTroupe({ model, agents: [lead, agent('my:cool_agent')] })
  const result = await run('lead', 'go')
  const posts = (await troupe.events(result.run_id).all()).filter((event) => event.type === 'tool:post')
  expect(posts.map(({ data }) => ('agent' in data ? data.agent : ''))).toEqual(['my:cool_agent', 'my:cool_agent'])
})

test('TK22 task_result of a failed session includes the error', async () => {
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    const text = lastMessageText(request)
    if (name === 'worker') throw Object.assign(new Error('worker failed'), { status: 400 })
    if (turn === 1) return call('task', { agent: 'worker', instruction: 'try', background: true })
    const session_id = /"session_id":"([^"]+)"/.exec(text)?.[1]
    return turn === 2 ? call('task_result', { session_id }) : { text }
  })
  const { task: run } = await createTestTroupe({ model, agents: [lead, agent('worker')] })
  expect(JSON.stringify((await run('lead', 'go')).output)).toContain('worker failed')
})

test('TK1 the output matches the schema, even for background tasks', async () => {
  const model = functionModel((request) => {
    if (request.session.agent === 'worker') return { text: 'done' }
    const input = { agent: 'worker', instruction: 'x', background: request.session.turn === 2 }
    return request.session.turn <= 2 ? call('task', input) : { text: 'end' }
  })
  const { troupe, task: run } = await createTestTroupe({ model, agents: [lead, agent('worker')] })
  const result = await run('lead', 'go')
  const posts = (await troupe.events(result.run_id).all()).filter((event) => event.type === 'tool:post')
  expect(posts).toHaveLength(2)
  for (const { data } of posts) expect(validateValue(task.output, 'output' in data ? data.output : null).ok).toBe(true)
  expect(validateValue(task.output, result.output).ok).toBe(true)
})
