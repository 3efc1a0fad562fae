import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { ModelRequest } from '../../../src/entries/models.ts'
import { createTroupe, defineTool, isEvent } from '../../../src/index.ts'
import {
  agent,
  createTestTroupe,
  functionModel,
  lastMessageText,
  lastResultSessionId,
} from '../../support/test-troupe.ts'

/*
 * Specification 003 (task delegation), example by example, with the shipped agents and default settings. The caller is
 * `default`; what it delegates to echoes its last message and the number of messages that it sees.
 */

type TaskInput = Record<string, unknown>

interface TaskOutput {
  response: string
  session_id: string
}

/** Calls `task` once per input, one after the other; an input may depend on the result of the previous call. */
function callingModel(inputs: readonly ((previous: string) => TaskInput)[]) {
  let caller: string | undefined
  return functionModel((request) => {
    const { session_id, agent, turn } = request.session
    caller ??= session_id
    if (session_id !== caller) return { text: `${agent}: ${lastMessageText(request)} (${request.messages.length})` }
    const next = inputs[turn - 1]
    return next ? { calls: [{ name: 'task', input: next(lastResultSessionId(request)) }] } : { text: 'done' }
  })
}

async function callTask(...inputs: (TaskInput | ((previous: string) => TaskInput))[]) {
  const model = callingModel(inputs.map((input) => (typeof input === 'function' ? input : () => input)))
  const { troupe, task } = await createTestTroupe({ model })
  const run = await task('default', 'Delegate.')
  const events = await troupe.events(run.run_id).all()
  const results = events.filter((event) => isEvent(event, 'tool:post')).map((event) => event.data)
  const errors = events.filter((event) => isEvent(event, 'tool:error')).map((event) => event.data)
  const outputs = model.requests
    .filter(({ session }) => session.agent === 'default' && session.turn > 1)
    .flatMap((request) => toolResultOf(request))
  return { model, run, events, results, errors, outputs }
}

/** The output of the last tool call, as the calling model sees it; none for an error. */
function toolResultOf(request: ModelRequest): TaskOutput[] {
  const json = /\{.*\}/s.exec(lastMessageText(request))?.[0]
  return json === undefined ? [] : [JSON.parse(json) as TaskOutput]
}

function childRequest([first, ...others]: readonly ModelRequest[]): ModelRequest | undefined {
  return others.find(({ session }) => session.session_id !== first?.session.session_id)
}

describe('003 usage', () => {
  test.each([
    ['architect', 'Analyze the authentication system architecture'],
    ['researcher', 'Research best practices for JWT token management'],
    ['implementer', 'Implement the user registration endpoint'],
    ['reviewer', 'Review the recent changes for security issues'],
  ])('003 a new sub-session of %s answers with response and session_id', async (agent, instruction) => {
    const { outputs } = await callTask({ agent, instruction })
    expect(outputs).toEqual([
      expect.objectContaining({
        response: expect.stringContaining(`${agent}: ${instruction}`),
        session_id: expect.stringMatching(new RegExp(`^[0-9a-f]{16}-[0-9a-f]{16}_${agent}$`)),
      }),
    ])
  })

  test('003 three turns of one session keep its id and its whole history', async () => {
    const { outputs } = await callTask(
      { agent: 'architect', instruction: 'Design a caching system' },
      (session_id) => ({ session_id, instruction: 'Add TTL support' }),
      (session_id) => ({ session_id, instruction: 'Add eviction policies' }),
    )
    expect(new Set(outputs.map(({ session_id }) => session_id)).size).toBe(1)
    expect(outputs.map(({ response }) => response)).toEqual([
      expect.stringMatching(/Design a caching system \(1\)/),
      expect.stringMatching(/Add TTL support \(3\)/),
      expect.stringMatching(/Add eviction policies \(5\)/),
    ])
  })

  test('003 a session survives the restart of its parent', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-003-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const store = join(folder, 'store.db')
    const model = () => functionModel((request) => ({ text: `${request.messages.length} messages` }))
    const first = await createTroupe({ store, model: model() })
    const design = await first.run('task', { agent: 'architect', instruction: 'Design a caching system' })
    await first.close()
    await using second = await createTroupe({ store, model: model() })
    const session_id = design.output?.session_id ?? ''
    const refined = await second.run('task', { session_id, instruction: 'Add TTL support' })
    expect(refined.output).toMatchObject({ session_id, agent: 'architect', response: '3 messages' })
  })
})

describe('003 input', () => {
  test('003 the schema of the tool has agent, instruction and session_id; only instruction is required', async () => {
    const { model } = await callTask({ agent: 'architect', instruction: 'Plan.' })
    const schema = model.requests[0]?.tools.find(({ name }) => name === 'task')?.input
    expect(schema).toMatchObject({
      type: 'object',
      properties: {
        agent: { type: 'string' },
        instruction: { type: 'string' },
        session_id: { type: 'string' },
      },
      required: ['instruction'],
    })
  })

  test('003 session_id resumes, with or without the agent of the session; another agent is an error', async () => {
    const { outputs, errors } = await callTask({ agent: 'architect', instruction: 'Design.' }, (session_id) => ({
      session_id,
      agent: 'architect',
      instruction: 'More.',
    }))
    expect(outputs[1]?.session_id).toBe(outputs[0]?.session_id)
    expect(errors).toEqual([])
    const other = await callTask({ agent: 'architect', instruction: 'Design.' }, (session_id) => ({
      session_id,
      agent: 'reviewer',
      instruction: 'More.',
    }))
    expect(other.errors[0]?.error).toMatch(/architect/)
  })

  test('003 a tool call has success and output, with response and session_id in it', async () => {
    const { model, results } = await callTask({ agent: 'architect', instruction: 'Design.' })
    const session_id = expect.stringMatching(/_architect$/)
    expect(results[0]).toMatchObject({ status: 'ok', output: { response: 'architect: Design. (1)', session_id } })
    const [result] = model.requests.at(-1)?.messages.at(-1)?.content ?? []
    expect(result).toMatchObject({ type: 'tool-result', name: 'task', is_error: false })
  })

  test('003 agent names may have a collection prefix', async () => {
    const name = 'developer-expertise:modular-builder'
    const builder = { name, description: 'Builds modules.', instructions: 'You build modules.' }
    const model = callingModel([() => ({ agent: name, instruction: 'Build it.' })])
    const { troupe, task } = await createTestTroupe({ model, agents: [builder] })
    const { run_id } = await task('default', 'Delegate.')
    const [post] = (await troupe.events(run_id).all()).filter((event) => isEvent(event, 'tool:post'))
    expect(post?.data).toMatchObject({ agent: name, status: 'ok' })
  })
})

describe('003 agent types', () => {
  async function requestsOf(agent: string) {
    const { model } = await callTask({ agent, instruction: 'Work.' })
    return childRequest(model.requests)
  }

  test('003 architect: temperature 0.7, and the system prompt of the document', async () => {
    const request = await requestsOf('architect')
    expect(request?.settings.temperature).toBe(0.7)
    expect(request?.system).toContain('You are a zen architect valuing simplicity')
  })

  test('003 implementer: temperature 0.3', async () => {
    expect((await requestsOf('implementer'))?.settings.temperature).toBe(0.3)
  })

  test('003 reviewer: the system prompt of the document', async () => {
    expect((await requestsOf('reviewer'))?.system).toContain('You are a code reviewer')
  })

  test('003 default inherits the tools of its caller', async () => {
    const lookUp = defineTool({
      name: 'look_up',
      description: 'Looks up a word.',
      kind: 'read',
      category: 'perception',
      input: z.object({ word: z.string() }),
      execute: () => ({ success: true, output: 'a word' }),
    })
    const model = callingModel([() => ({ agent: 'self', instruction: 'Work.' })])
    const { task } = await createTestTroupe({ model, tools: [lookUp] })
    await task('default', 'Delegate.')
    expect(childRequest(model.requests)?.tools.map(({ name }) => name)).toContain('look_up')
  })

  test.each([
    ['researcher', ['WebFetch', 'WebSearch'], ['Write', 'Edit', 'Bash']],
    ['implementer', ['Read', 'Write', 'Edit', 'Bash'], ['WebFetch', 'WebSearch']],
    ['reviewer', ['Read', 'Grep'], ['Write', 'Edit']],
  ])('003 %s lists the tools of the document', async (name, included, excluded) => {
    const { tools } = JSON.parse(await readFile('src/formats/built-in-agents.json', 'utf8')).find(
      (agent: { name: string }) => agent.name === name,
    ) as { tools: string[] }
    expect(tools).toEqual(expect.arrayContaining(included))
    for (const tool of excluded) expect(tools).not.toContain(tool)
  })
})

describe('003 errors', () => {
  test.each([
    ['an empty instruction', { agent: 'architect', instruction: '' }, /instruction/],
    ['no agent for a new session', { instruction: 'Do something.' }, /agent/],
    ['an unknown agent', { agent: 'architekt', instruction: 'Design.' }, /architect/],
    ['an unknown session', { session_id: 'parent-123-architect-abc456', instruction: 'Go on.' }, /new session/],
  ])('003 %s is reported to the caller, which goes on', async (_name, input, message) => {
    const { run, errors, model } = await callTask(input)
    expect(run.status).toBe('completed')
    const told = model.requests.at(-1)
    expect(`${errors[0]?.error ?? ''} ${told ? lastMessageText(told) : ''}`).toMatch(message)
  })

  test('003 the recursion depth is limited to 1 by default', async () => {
    const { task } = await createTestTroupe({ model: twoLevelModel() })
    const { output } = await task('default', 'Delegate.')
    expect((output as TaskOutput).response).toMatch(/depth/)
  })
})

describe('003 configuration', () => {
  test('003 the configuration of the document sets the recursion depth, in a program and in the configuration file', async () => {
    const delegating = [agent('lead'), agent('coder', { tools: ['task'] }), agent('critic')]
    for (const max_recursion_depth of [1, 2]) {
      const model = twoLevelModel(['lead', 'coder', 'critic'])
      const { task } = await createTestTroupe({ model, agents: delegating, task: { max_recursion_depth } })
      await task('lead', 'Delegate.')
      const children = new Set(model.requests.map(({ session }) => session.agent)).size - 1
      expect(children).toBe(max_recursion_depth)
    }
    const folder = await mkdtemp(join(tmpdir(), 'troupe-003-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const config = join(folder, 'troupe.config.yaml')
    await writeFile(config, 'task:\n  max_recursion_depth: 2\n')
    const model = twoLevelModel(['lead', 'coder', 'critic'])
    const troupe = await createTroupe({ store: 'memory', config, model, agents: delegating })
    await troupe.run('task', { agent: 'lead', instruction: 'Delegate.' })
    await troupe.close()
    expect(model.requests.some(({ session }) => session.agent === 'critic')).toBe(true)
  })
})

/** Each agent delegates to the next one in its first turn and reports the result. */
function twoLevelModel(chain = ['default', 'architect', 'reviewer']) {
  return functionModel((request) => {
    const { agent: caller, turn } = request.session
    const next = chain[chain.indexOf(caller) + 1]
    return turn === 1 && next
      ? { calls: [{ name: 'task', input: { agent: next, instruction: 'Go.' } }] }
      : { text: lastMessageText(request) }
  })
}

describe('003 events', () => {
  test('003 tool:pre and tool:post have the fields of the document', async () => {
    const { events, run } = await callTask({ agent: 'architect', instruction: 'Design.' })
    const parent_session_id = (run.output as TaskOutput).session_id
    const [pre] = events.filter((event) => isEvent(event, 'tool:pre')).map((event) => event.data)
    const [post] = events.filter((event) => isEvent(event, 'tool:post')).map((event) => event.data)
    const sub_session_id = expect.stringMatching(/_architect$/)
    const call = { tool: 'task', agent: 'architect', sub_session_id, parent_session_id }
    expect(pre).toMatchObject({ ...call, instruction: 'Design.', depth: 1 })
    expect(post).toMatchObject({ ...call, status: 'ok' })
  })

  test('003 tool:error has the fields of the document', async () => {
    const { errors, run } = await callTask({ agent: 'nobody', instruction: 'Design.' })
    const parent_session_id = (run.output as TaskOutput).session_id
    expect(errors).toEqual([
      expect.objectContaining({
        tool: 'task',
        agent: 'nobody',
        parent_session_id,
        error: expect.stringContaining('nobody'),
      }),
    ])
  })
})
