import { EventSchemas } from '@ag-ui/core/schemas'
import { afterEach, describe, expect, test } from 'vitest'
import type { TestHttpServer } from '../../../../test/support/front-end-server.ts'
import { startTestHttpServer } from '../../../../test/support/front-end-server.ts'
import { parseSse } from '../../../../test/support/sse-client.ts'
import { agents, createTestTroupe, taskCall } from '../../../../test/support/test-troupe.ts'
import type { Troupe } from '../../../index.ts'
import type { Scope } from '../contract.ts'
import { questionHash } from '../routes/question-hash.ts'
import type { AgUiEvent } from './ag-ui-events.ts'

const open: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

const ask = (question: string, choices?: string[]) => ({ name: 'ask_user', input: { question, choices } })

async function setUp(rules: Record<string, unknown>[]): Promise<{ troupe: Troupe; server: TestHttpServer }> {
  const { troupe } = await createTestTroupe({ agents, rules })
  const server = await startTestHttpServer(troupe)
  open.push(
    () => troupe.close(),
    () => server.close(),
  )
  return { troupe, server }
}

interface Post {
  pattern?: string
  body?: Record<string, unknown>
  scopes?: readonly Scope[]
}

async function post(server: TestHttpServer, { pattern = 'task', body, scopes }: Post = {}): Promise<Response> {
  const input = {
    threadId: 't1',
    runId: 'a1',
    messages: [{ id: 'm1', role: 'user', content: 'Build it.' }],
    tools: [],
    context: [],
    forwardedProps: { input: { agent: 'lead' } },
    ...body,
  }
  const headers = await server.headers(scopes)
  return fetch(`${server.url}/api/ag-ui/${pattern}`, { method: 'POST', headers, body: JSON.stringify(input) })
}

/** All events of a response, each checked with the schemas of the protocol. */
async function eventsOf(response: Response): Promise<AgUiEvent[]> {
  expect(response.status).toBe(200)
  const events: AgUiEvent[] = []
  if (!response.body) throw new Error('no body')
  for await (const { event, data } of parseSse(response.body)) {
    if (event === 'comment') continue
    EventSchemas.parse(data)
    events.push(data as AgUiEvent)
  }
  return events
}

const typesOf = (events: readonly AgUiEvent[]) => events.map(({ type }) => type)
/** The questions that ended a response. */
function interruptsOf(events: readonly AgUiEvent[]): { id: string; toolCallId?: string }[] {
  const { interrupts = [] } = (events.at(-1)?.outcome ?? {}) as { interrupts?: { id: string; toolCallId?: string }[] }
  return interrupts
}

const find = (events: readonly AgUiEvent[], type: string) => events.find((event) => event.type === type)

describe('the AG-UI endpoint', () => {
  test('HT18 a run is streamed as AG-UI events: text, calls, sub-agents and the result', async () => {
    const { troupe, server } = await setUp([
      { when: { agent: 'lead', turn: 1 }, reply: { text: 'I delegate.', toolCalls: [taskCall('coder', 'Write it.')] } },
      { when: { agent: 'coder' }, reply: { text: 'Written.' } },
      { reply: { text: 'Done, all of it.' } },
    ])
    const events = await eventsOf(await post(server))
    expect(typesOf(events)).toEqual([
      'RUN_STARTED',
      ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'],
      ...['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END'],
      'SUBAGENT_STARTED',
      ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'],
      'SUBAGENT_FINISHED',
      'TOOL_CALL_RESULT',
      ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'],
      'RUN_FINISHED',
    ])
    const [started, call, subagent] = ['RUN_STARTED', 'TOOL_CALL_START', 'SUBAGENT_STARTED'].map((type) =>
      find(events, type),
    )
    const { run_id = '' } = (started?.metadata ?? {}) as { run_id?: string }
    expect(started).toMatchObject({ threadId: 't1', runId: 'a1', protocolVersion: '1.0' })
    expect(subagent).toMatchObject({ name: 'coder', parentToolCallId: call?.toolCallId })
    expect(events.filter((event) => 'delta' in event && event.subagentRunId === subagent?.subagentRunId)).toMatchObject(
      [{ delta: 'Written.' }],
    )
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'success' }, result: { response: 'Done, all of it.' } })
    expect(await troupe.getRun(run_id)).toMatchObject({ status: 'completed', tags: ['thread:t1'] })
    // Clients keep the messages of all runs of a thread by their ids.
    const idsOf = (list: readonly AgUiEvent[]) => list.flatMap(({ messageId, toolCallId }) => [messageId, toolCallId])
    const again = await eventsOf(await post(server, { body: { runId: 'a2' } }))
    const known = new Set<unknown>(idsOf(events).filter((id) => id !== undefined))
    expect(idsOf(again).filter((id) => known.has(id))).toEqual([])
  })

  test('HT19 a question ends the response with an interrupt, and `resume` answers it and goes on', async () => {
    const { troupe, server } = await setUp([
      { when: { agent: 'lead', turn: 1 }, reply: { toolCalls: [taskCall('coder', 'Ask.')] } },
      { when: { agent: 'coder', turn: 1 }, reply: { toolCalls: [ask('Which colour?', ['red', 'blue'])] } },
      { when: { agent: 'coder' }, reply: { text: 'Red it is.' } },
      { reply: { text: 'Painted.' } },
    ])
    const first = await eventsOf(await post(server))
    const suspended = find(first, 'SUBAGENT_FINISHED')
    const interrupts = interruptsOf(first)
    expect(first.at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: {
        type: 'interrupt',
        interrupts: [{ message: 'Which colour?', responseSchema: { enum: ['red', 'blue'] } }],
      },
    })
    expect(suspended).toMatchObject({ outcome: { type: 'suspended', interruptIds: [interrupts[0]?.id] } })
    const calls = first.filter(({ type }) => type === 'TOOL_CALL_START')
    expect(interrupts[0]?.toolCallId).toBe(calls.find(({ toolCallName }) => toolCallName === 'ask_user')?.toolCallId)

    const resume = [{ interruptId: interrupts[0]?.id, status: 'resolved', payload: 'red' }]
    const refused = await post(server, { body: { runId: 'a2', resume }, scopes: ['read', 'run'] })
    expect(refused.status).toBe(403)
    const second = await eventsOf(await post(server, { body: { runId: 'a2', resume } }))
    expect(second[0]).toMatchObject({ type: 'RUN_STARTED', runId: 'a2', metadata: first[0]?.metadata })
    expect(second[1]).toMatchObject({ type: 'SUBAGENT_STARTED', subagentRunId: suspended?.subagentRunId })
    expect(second.find(({ name }) => name === 'troupe.answer')).toMatchObject({ value: { answer: 'red', by: 'ada' } })
    expect(second.flatMap(({ delta }) => delta ?? [])).toEqual(['Red it is.', 'Painted.'])
    expect(second.at(-1)).toMatchObject({ outcome: { type: 'success' } })
    expect((await troupe.gates()).items).toEqual([])
  })

  test('HT19 the id of an interrupt is bound to the question: another hash, or none, is 409 and answers nothing', async () => {
    const { troupe, server } = await setUp([
      { when: { turn: 1 }, reply: { toolCalls: [ask('Go on?', ['yes', 'no'])] } },
      { reply: { text: 'x' } },
    ])
    const [interrupt] = interruptsOf(await eventsOf(await post(server)))
    const [gate_id = '', hash = ''] = String(interrupt?.id).split('#')
    const other = questionHash({ gate_id, question: 'Delete everything?', choices: ['yes', 'no'] })
    expect([gate_id, hash]).toEqual([(await troupe.gates()).items[0]?.gate_id, expect.stringMatching(/^[0-9a-f]{64}$/)])
    for (const interruptId of [gate_id, `${gate_id}#${other}`]) {
      const response = await post(server, { body: { resume: [{ interruptId, status: 'resolved', payload: 'yes' }] } })
      expect([response.status, await response.json()]).toMatchObject([409, { error: { code: 'question_changed' } }])
    }
    expect((await troupe.gates()).items[0]?.pending_answer_by).toBeUndefined()
    const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: 'yes' }]
    expect((await eventsOf(await post(server, { body: { resume } }))).at(-1)).toMatchObject({
      outcome: { type: 'success' },
    })
  })

  test('HT19 a question that the person abandoned stays open', async () => {
    const { troupe, server } = await setUp([
      { when: { turn: 1 }, reply: { toolCalls: [ask('Go on?')] } },
      { reply: { text: 'x' } },
    ])
    const first = await eventsOf(await post(server))
    const interrupts = interruptsOf(first)
    const resume = [{ interruptId: interrupts[0]?.id, status: 'cancelled' }]
    const second = await eventsOf(await post(server, { body: { resume } }))
    expect(typesOf(second)).toEqual(['RUN_STARTED', 'RUN_FINISHED'])
    expect(second.at(-1)).toMatchObject({ outcome: { type: 'interrupt', interrupts: [{ id: interrupts[0]?.id }] } })
    expect((await troupe.gates()).items).toHaveLength(1)
  })

  test('HT19 `resume` without an answer, or with two answers to a question, is 400 and answers nothing', async () => {
    const { troupe, server } = await setUp([
      { when: { turn: 1 }, reply: { toolCalls: [ask('Go on?')] } },
      { reply: { text: 'x' } },
    ])
    const [interrupt] = interruptsOf(await eventsOf(await post(server)))
    const entry = { interruptId: interrupt?.id, status: 'resolved' }
    for (const resume of [
      [entry],
      [
        { ...entry, payload: 'yes' },
        { ...entry, payload: 'no' },
      ],
    ])
      expect((await post(server, { body: { resume } })).status).toBe(400)
    const { items } = await troupe.gates()
    expect(items).toHaveLength(1)
    expect(items[0]?.pending_answer_by).toBeUndefined()
  })

  test('HT20 a client that disconnects does not stop the run', async () => {
    const { troupe, server } = await setUp([{ reply: { text: 'Done.', delayMs: 300 } }])
    const response = await post(server)
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    const run = (await troupe.runs()).items[0]
    expect((await troupe.result(run?.run_id ?? '')).status).toBe('running')
    for await (const event of troupe.watch(run?.run_id ?? '')) void event
    expect((await troupe.result(run?.run_id ?? '')).output).toMatchObject({ response: 'Done.' })
  })

  test('HT18 a run that fails ends with RUN_ERROR', async () => {
    const { server } = await setUp([{ reply: { error: { status: 401, message: 'no key' } } }])
    const events = await eventsOf(await post(server))
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', message: expect.stringMatching(/no key/) })
  })

  test('HT21 earlier messages and `context` become part of the instruction', async () => {
    const { troupe, server } = await setUp([{ reply: { text: 'Done.' } }])
    const messages = [
      { id: '1', role: 'user', content: 'Plan it.' },
      { id: '2', role: 'assistant', content: 'Planned.' },
      { id: '3', role: 'user', content: [{ type: 'text', text: 'Build it.' }] },
    ]
    await eventsOf(await post(server, { body: { messages, context: [{ description: 'page', value: '/home' }] } }))
    const [start] = await troupe.events((await troupe.runs()).items[0]?.run_id ?? '').all()
    const instruction =
      'Context:\n\npage: /home\n\nConversation so far:\n\nuser: Plan it.\n\nassistant: Planned.\n\nNow:\n\nBuild it.'
    expect(start?.data).toMatchObject({ input: { instruction } })
  })

  test.each([
    ['no message', { messages: [] }, 400],
    ['no user message at the end', { messages: [{ id: '1', role: 'assistant', content: 'x' }] }, 400],
    [
      'a message of images only',
      { messages: [{ id: '1', role: 'user', content: [{ type: 'image', source: {} }] }] },
      400,
    ],
    ['an unknown field of the input', { forwardedProps: { input: { workspace: '/etc' } } }, 400],
    ['an unknown question', { resume: [{ interruptId: 'g', status: 'resolved' }] }, 404],
    ['no thread', { threadId: undefined }, 400],
  ])('HT21 %s is refused', async (_, body, status) => {
    const { server, troupe } = await setUp([{ reply: { text: 'x' } }])
    const response = await post(server, { body })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } })
    expect((await troupe.runs()).items).toEqual([])
  })

  test('HT21 an unknown pattern is 404, and a token without `run` is 403', async () => {
    const { server } = await setUp([{ reply: { text: 'x' } }])
    expect((await post(server, { pattern: 'nothing' })).status).toBe(404)
    expect((await post(server, { scopes: ['read'] })).status).toBe(403)
  })
})
