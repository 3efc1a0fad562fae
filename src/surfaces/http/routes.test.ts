import { describe, expect, test } from 'vitest'
import { startTestServer, waitUntil } from '../../../test/support/http-harness.ts'
import { agent, modelFromRules } from '../../../test/support/test-troupe.ts'
import type { Event, RunRow } from '../../index.ts'
import { defineTool } from '../../index.ts'
import type { EventPage, InboxItem, QuestionPart, RunItem, RunPage, RunSummary } from './contract.ts'

const question = modelFromRules(
  {
    when: { turn: 1 },
    reply: { toolCalls: [{ name: 'ask_user', input: { question: 'Which colour?', choices: ['red', 'blue'] } }] },
  },
  { when: { says: 'blue' }, reply: { text: 'Blue it is.' } },
  { reply: { text: 'Another colour.' } },
)
const planTool = defineTool({
  name: 'plan',
  description: 'Carries out a plan.',
  input: { type: 'object' },
  kind: 'act',
  category: 'action',
  execute: () => ({ success: true, output: 'done' }),
})
const asking = { agents: [agent('lead')], model: question }
const task = { input: { agent: 'lead', instruction: 'Choose.' } }

type Server = Awaited<ReturnType<typeof startTestServer>>

async function startRun({ call }: Server, body: unknown = task, pattern = 'task'): Promise<string> {
  const started = await call(`/api/patterns/${pattern}/runs`, body)
  expect([started.status, started.text]).toEqual([200, expect.stringContaining('run_id')])
  return (started.json as { run_id: string }).run_id
}

function untilStatus({ troupe }: Server, run_id: string, status: string): Promise<RunRow> {
  return waitUntil(async () => {
    const row = await troupe.getRun(run_id)
    return row.status === status && !troupe.isRunning(row) && row
  }, status)
}

const eventsOf = async ({ troupe }: Server, run_id: string, type: string): Promise<Event[]> =>
  (await troupe.events(run_id).all()).filter((event) => event.type === type)

describe('runs', () => {
  test('HS16 HS17 a run that is started over HTTP is executed, listed, read and exported', async () => {
    const server = await startTestServer()
    const run_id = await startRun(server, { ...task, tags: ['customer:42'] })
    await untilStatus(server, run_id, 'completed')
    const item = (await server.call(`/api/runs/${run_id}`)).json as RunItem
    expect(item).toMatchObject({ run_id, pattern: 'task', status: 'completed', running: false, tags: ['customer:42'] })
    for (const name of ['owner', 'lease_until', 'epoch', 'project']) expect(item).not.toHaveProperty(name)
    expect((await server.call(`/api/runs/${run_id}/result`)).json).toMatchObject({ output: { response: 'Done.' } })
    const first = (await server.call(`/api/runs/${run_id}/events?limit=2`)).json as EventPage
    expect(first).toMatchObject({ events: [{ seq: 1, type: 'run:start' }, { seq: 2 }], next: 2 })
    const rest = (await server.call(`/api/runs/${run_id}/events?after=2`)).json as EventPage
    expect(rest.next).toBeNull()
    expect([...first.events, ...rest.events]).toEqual(await server.troupe.events(run_id).all())
    const exported = await server.call(`/api/runs/${run_id}/export`)
    expect(exported.headers['content-disposition']).toContain(`attachment; filename="${run_id}.json"`)
    expect(exported.json).toEqual(JSON.parse(JSON.stringify(await server.troupe.exportSession(run_id))))
    expect((await server.call(`/api/cost?run_id=${run_id}`)).json).toMatchObject({ by: 'agent', total: { calls: 1 } })
    expect((await server.call('/api/reports')).status).toBe(200)
  })

  test('HS16 runs are filtered by status, pattern and tag, and read page by page', async () => {
    const server = await startTestServer()
    const ids: string[] = []
    for (const tag of ['a', 'b', 'a']) ids.push(await startRun(server, { ...task, tags: [tag] }))
    for (const id of ids) await untilStatus(server, id, 'completed')
    const list = async (query: string) => (await server.call(`/api/runs${query}`)).json as RunPage
    const idsOf = ({ runs }: RunPage) => runs.map((run) => run.run_id)
    expect(idsOf(await list(''))).toEqual(ids.toReversed())
    expect(idsOf(await list('?tag=a'))).toEqual([ids[2], ids[0]])
    expect(idsOf(await list('?tag=a&tag=b'))).toEqual([])
    expect(idsOf(await list('?status=failed,cancelled'))).toEqual([])
    expect(idsOf(await list('?status=completed&pattern=task'))).toHaveLength(3)
    expect(await list('')).toMatchObject({ counts: { completed: 3, failed: 0 } })
    expect(idsOf(await list('?text=choose'))).toHaveLength(3)
    expect(idsOf(await list('?text=elephant'))).toEqual([])
    const summaries = (await server.call(`/api/runs/summaries?ids=${ids[0]},r_none`)).json as RunSummary[]
    expect(summaries).toMatchObject([{ run_id: ids[0], agents: ['lead'] }])
    const page = await list('?limit=2')
    expect(idsOf(await list(`?limit=2&cursor=${page.cursor}`))).toEqual([ids[0]])
    for (const query of [
      '?limit=0',
      '?limit=x',
      '?status=odd',
      '?cursor=x',
      '?by=me',
      `?tag=a&cursor=${page.cursor}`,
      '?project=other',
    ])
      expect([query, (await server.call(`/api/runs${query}`)).status]).toEqual([query, 400])
  })

  test('HS17 input that the pattern rejects starts nothing', async () => {
    const server = await startTestServer()
    const start = async (pattern: string, body: unknown) => {
      const { status, json } = await server.call(`/api/patterns/${pattern}/runs`, body)
      return [status, (json as { error: { code: string } }).error.code]
    }
    expect(await start('nothing', task)).toEqual([404, 'not_found'])
    expect(await start('ask_user', task)).toEqual([404, 'not_found'])
    expect(await start('task', {})).toEqual([400, 'invalid_input'])
    expect(await start('task', { input: { instruction: 1 } })).toEqual([400, 'invalid_input'])
    expect(await start('task', { input: { agent: 'nobody', instruction: 'x' } })).toEqual([400, 'unknown_agent'])
    expect(await start('task', { ...task, limits: { calls: null } })).toEqual([400, 'invalid_input'])
    expect(await start('task', { ...task, tags: [''] })).toEqual([400, 'invalid_input'])
    expect(await server.troupe.runs().all()).toEqual([])
  })

  test('HS18 a run is cancelled, resumed and forked in the name of the caller', async () => {
    const server = await startTestServer({ troupe: asking })
    const run_id = await startRun(server)
    await untilStatus(server, run_id, 'waiting')
    const forked = await server.call(`/api/runs/${run_id}/fork`, { seq: 1 })
    const fork = (forked.json as { run_id: string }).run_id
    expect(fork).not.toBe(run_id)
    await untilStatus(server, fork, 'waiting')
    const cancelled = await server.call(`/api/runs/${run_id}/cancel`, { reason: 'not needed' })
    expect(cancelled.json).toMatchObject({ run_id, status: 'cancelled' })
    expect((await eventsOf(server, run_id, 'run:cancel'))[0]?.data).toMatchObject({ by: 'ada', reason: 'not needed' })
    expect((await server.call(`/api/runs/${run_id}/resume`, {})).json).toMatchObject({ error: { code: 'run_ended' } })
    expect((await server.call(`/api/runs/${run_id}/cancel`, {})).status).toBe(409)
    expect((await server.call(`/api/runs/${fork}/fork`, { seq: 10_000 })).status).toBe(400)
    expect((await server.call(`/api/runs/${fork}/steer`, { do: 'pause' })).json).toMatchObject({
      error: { code: 'invalid_input', message: expect.stringContaining('cannot be steered') },
    })
    for (const [command, body] of [
      ['cancel', { by: 'someone else' }],
      ['fork', { seq: 1, changes: { model: 'other' } }],
      ['fork', { seq: '1' }],
      ['resume', { limits: { calls: null } }],
      ['steer', { do: 'destroy' }],
    ] as const)
      expect([command, (await server.call(`/api/runs/${fork}/${command}`, body)).status]).toEqual([command, 400])
  })

  test('HS25 a server that does not execute starts and resumes nothing, but stores answers', async () => {
    const first = await startTestServer({ troupe: asking })
    const run_id = await startRun(first)
    await untilStatus(first, run_id, 'waiting')
    await first.stop()
    const viewer = await startTestServer({ folder: first.folder, troupe: asking, executes: false })
    for (const [path, body] of [
      ['/api/patterns/task/runs', task],
      [`/api/runs/${run_id}/resume`, {}],
      [`/api/runs/${run_id}/fork`, { seq: 1 }],
    ] as const)
      expect((await viewer.call(path, body)).json).toMatchObject({ error: { code: 'not_executing' } })
    const [item] = (await viewer.call('/api/inbox')).json as InboxItem[]
    const answered = await viewer.call(`/api/gates/${item?.gate_id}/answer`, { answer: 'blue', hash: item?.hash })
    expect(answered.json).toEqual({ run_id })
    expect(await viewer.troupe.getRun(run_id)).toMatchObject({ status: 'waiting' })
    await viewer.stop()
    const second = await startTestServer({ folder: first.folder, troupe: asking })
    await untilStatus(second, run_id, 'completed')
  })
})

describe('questions', () => {
  test('HS19 HS11 a question is answered in the name of the caller, and the run goes on', async () => {
    const server = await startTestServer({ troupe: asking })
    const run_id = await startRun(server)
    await untilStatus(server, run_id, 'waiting')
    const [item, ...others] = (await server.call('/api/inbox')).json as InboxItem[]
    expect(others).toEqual([])
    expect(item).toMatchObject({
      question: 'Which colour?',
      choices: ['red', 'blue'],
      run: { run_id, pattern: 'task' },
    })
    expect(item).not.toHaveProperty('project')
    const path = `/api/gates/${item?.gate_id}/answer`
    expect((await server.call(path, { answer: 'green', hash: item?.hash })).status).toBe(400)
    expect((await server.call(path, { answer: 'blue', hash: item?.hash, by: 'root' })).status).toBe(400)
    expect((await server.call(path, { answer: 'blue', hash: item?.hash })).json).toEqual({ run_id })
    await untilStatus(server, run_id, 'completed')
    expect((await eventsOf(server, run_id, 'gate:answer'))[0]?.data).toMatchObject({ answer: 'blue', by: 'ada' })
    expect((await server.troupe.result(run_id)).output).toMatchObject({ response: 'Blue it is.' })
  })

  test('HS33 a long call is sent in parts, bound to the question, and nothing of it is left out', async () => {
    const input = {
      text: '😀'.repeat(300_000),
      steps: Array.from({ length: 4_000 }, (_, step) => ({
        step,
        run: { command: `rm -r folder-${step}`, why: ['x'] },
      })),
    }
    const model = modelFromRules({ when: { turn: 1 }, reply: { toolCalls: [{ name: 'plan', input }] } })
    const lead = agent('lead', { tools: ['plan'], permissions: { ask: ['plan'] } })
    const server = await startTestServer({ troupe: { agents: [lead], tools: [planTool], model } })
    await untilStatus(server, await startRun(server), 'waiting')
    const response = await server.call('/api/inbox')
    expect(response.text.length).toBeLessThan(2_000_000)
    const [item] = response.json as InboxItem[]
    const whole = async (title: string) => {
      const block = item?.blocks.find((each) => each.title === title)
      if (block?.kind !== 'code' || !block.rest) throw new Error(`${title} has no rest`)
      const parts = [block.text]
      for (let from: number | null = block.rest.from; from !== null; ) {
        const path = `/api/gates/${item?.gate_id}/blocks/${block.rest.block}?from=${from}&hash=${item?.hash}`
        const part: QuestionPart = (await server.call(path)).json
        parts.push(part.text)
        from = part.next
      }
      expect(parts.every((part) => part.isWellFormed())).toBe(true)
      expect(parts.join('')).toHaveLength(block.rest.length)
      return parts.join('')
    }
    expect(await whole('text')).toBe(input.text)
    expect(JSON.parse(await whole('steps'))).toEqual(input.steps)
    const path = `/api/gates/${item?.gate_id}/blocks`
    const hash = `hash=${item?.hash}`
    for (const [query, status] of [
      [`/2?from=0&hash=${'f'.repeat(64)}`, 409],
      ['/2?from=0', 400],
      [`/2?${hash}`, 400],
      [`/2?from=-1&${hash}`, 400],
      [`/2?from=900000000&${hash}`, 404],
      [`/99?from=0&${hash}`, 404],
      [`/x?from=0&${hash}`, 404],
      [`/constructor?from=0&${hash}`, 404],
    ] as const)
      expect([query, (await server.call(`${path}${query}`)).status]).toEqual([query, status])
  })

  test('HS19 an answer is bound to the question that was shown, and the first one wins', async () => {
    const server = await startTestServer({ troupe: asking, executes: true })
    const run_id = await startRun(server)
    await untilStatus(server, run_id, 'waiting')
    const [item] = (await server.call('/api/inbox')).json as InboxItem[]
    const path = `/api/gates/${item?.gate_id}/answer`
    const wrong = await server.call(path, { answer: 'blue', hash: 'f'.repeat(64) })
    expect([wrong.status, wrong.json]).toEqual([409, { error: expect.objectContaining({ code: 'question_changed' }) }])
    expect((await server.call(path, { answer: 'blue' })).status).toBe(400)
    expect(await eventsOf(server, run_id, 'gate:answer')).toEqual([])
    await server.troupe.answer(item?.gate_id ?? '', 'red', { by: 'grace', resume: false })
    const late = await server.call(path, { answer: 'blue', hash: item?.hash })
    expect([late.status, late.json]).toEqual([409, { error: expect.objectContaining({ code: 'gate_answered' }) }])
    expect((late.json as { error: { message: string } }).error.message).toContain('elsewhere')
  })
})
