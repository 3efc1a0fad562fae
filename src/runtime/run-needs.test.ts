import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createSubmitOnlyTroupe } from '../../test/support/submit-only-troupe.ts'
import { agent, createTroupeWithStore, functionModel, storeOf, taskCall } from '../../test/support/test-troupe.ts'
import { verifyJournal } from '../audit/verify-journal.ts'
import { definePattern } from '../entries/patterns.ts'
import type { RunResult, Tool, Troupe, TroupeOptions } from '../index.ts'
import { createTroupe, defineTool, isEvent } from '../index.ts'
import type { RunNeeds } from '../judgement/needs/run-needs.ts'

const payments: string[] = []

function payTool(description = 'Pays an invoice.'): Tool {
  return defineTool({
    name: 'pay',
    description,
    kind: 'act',
    category: 'action',
    input: z.object({ amount: z.number() }),
    execute(_input, { idempotency_key }) {
      payments.push(idempotency_key)
      return { success: true, output: 'paid' }
    },
  })
}

/** The lead delegates when it is told to; everyone else pays once. */
const model = () =>
  functionModel(({ session, messages }) => {
    if (session.turn > 1 || session.agent === 'coordinator') return { text: 'Done.' }
    const delegates = session.agent === 'lead' && JSON.stringify(messages).includes('delegate')
    return { calls: [delegates ? taskCall('coder', 'pay') : { name: 'pay', input: { amount: 5 } }] }
  })

const agents = [agent('lead'), agent('coder')]
const permissions = { ask: ['pay'] }

async function openHosts(options: TroupeOptions = {}): Promise<{ program: Troupe; other: Troupe }> {
  payments.length = 0
  const shared = { model: model(), agents, permissions, embedder: false as const }
  const program = await createTroupeWithStore({ ...shared, tools: [payTool()], ...options })
  const other = await createTroupeWithStore({ ...shared, store: storeOf(program) })
  onTestFinished(async () => {
    await other.close()
    await program.close()
  })
  return { program, other }
}

async function needsOf(troupe: Troupe, run_id: string): Promise<RunNeeds | undefined> {
  const [start] = await troupe.events(run_id).all()
  return isEvent(start, 'run:start') ? (start.data.needs as RunNeeds | undefined) : undefined
}

const team = {
  name: 'payers',
  agents: [{ name: 'payer', uses: 'coder' }],
  after_work_behavior: 'terminate',
}

test.each<[string, string, object]>([
  ['task', 'task', { agent: 'coder', instruction: 'pay' }],
  ['a sub-session of task', 'task', { agent: 'lead', instruction: 'delegate' }],
  ['collaborate', 'collaborate', { task: 'pay', agents: ['coder'], synthesis: 'merge' }],
  ['team', 'team', { team, message: 'pay' }],
])(
  'ND3 an answer to %s in a process without the tool is stored, and the tool is called once by one with it',
  async (_title, pattern, input) => {
    const { program, other } = await openHosts()
    const parked = await program.run(pattern as string, input)
    expect(parked).toMatchObject({ status: 'waiting', gates: [{ question: expect.stringContaining('call pay?') }] })
    const head = (await program.getRun(parked.run_id)).head
    const left = await (await other.answer(parked.gates[0]?.gate_id ?? '', 'allow')).result
    expect(left).toMatchObject({ status: 'waiting', not_continued: { code: 'needs_missing' } })
    expect(await other.claim()).toBeUndefined()
    expect(await other.gates().all()).toMatchObject([{ pending_answer_by: 'user' }])
    expect(await program.getRun(parked.run_id)).toMatchObject({ head, epoch: 1, owner: null })
    expect(payments).toEqual([])
    const claimed = await program.claim()
    expect(await claimed?.result).toMatchObject({ run_id: parked.run_id, status: 'completed' })
    expect(payments).toHaveLength(1)
    expect(verifyJournal(await program.events(parked.run_id).all())).toEqual([])
  },
)

test('ND2 `resume` in a process without the tool rejects and changes neither journal nor lease', async () => {
  const { program, other } = await openHosts()
  const { run_id } = await program.run('task', { agent: 'coder', instruction: 'pay' })
  const before = await program.getRun(run_id)
  const refused = (await other.resume(run_id, { limits: { calls: 50 } })).result
  await expect(refused).rejects.toMatchObject({ code: 'needs_missing', alternatives: ['pay'] })
  expect(await program.getRun(run_id)).toEqual(before)
})

test('ND1 `run:start` records the parts of the host by name and hash, without secrets', async () => {
  const review = definePattern({
    name: 'review',
    description: 'Reviews.',
    version: 3,
    input: z.object({}),
    output: z.unknown(),
    category: 'planning',
    execute: async () => ({ success: true }),
  })
  const servers = {
    issues: {
      type: 'http' as const,
      url: 'https://issues.example/mcp?key=s3cret',
      headers: { Authorization: 'Bearer s3cret' },
    },
    files: { command: 'serve', args: ['--password', 's3cret'], env: { TOKEN: 's3cret' } },
  }
  const hooks = [{ name: 'guard', beforeTool: () => undefined, onEvent: () => {} }, { beforeTool: () => undefined }]
  const { program } = await openHosts({ patterns: [review], hooks, mcp: { servers, unconfined: true } })
  const { run_id } = await program.run('review', {})
  const needs = await needsOf(program, run_id)
  const part = (name: string) => ({ name, hash: expect.stringMatching(/^[0-9a-f]{16}$/) })
  expect(needs).toEqual({
    started_by: { program: expect.any(String), folder: process.cwd(), host: expect.any(String) },
    tools: [part('pay')],
    hooks: [{ name: 'beforeTool:guard' }, { name: 'onEvent:guard' }, { name: 'beforeTool' }],
    servers: [part('issues'), part('files')],
    patterns: [part('review')],
    agents: [part('lead'), part('coder')],
    models: [{ name: 'function' }, ...['fast', 'general', 'reasoning'].map((name) => ({ name, hash: 'function' }))],
  })
  expect(JSON.stringify(needs)).not.toContain('s3cret')
})

test('ND1 a run that needs nothing from its host records nothing, and any process continues it', async () => {
  const program = await createTroupe({ store: 'memory', models: { resolver: { resolve: () => model() } } })
  const { run_id } = await program.run('task', { agent: 'default', instruction: 'pay' })
  expect(await needsOf(program, run_id)).toBeUndefined()
  expect(await program.checkNeeds(run_id)).toEqual({ missing: [], unused: [], changed: [], started_by: null })
  await program.close()
})

test('ND1 in SQLite, the needs of many runs are stored once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-needs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const tools = [payTool('Pays. '.repeat(500))]
  const program = await createTroupe({ store: folder, model: model(), tools, agents, permissions })
  for (let index = 0; index < 3; index++) await program.run('task', { agent: 'coder', instruction: 'pay' })
  await program.close()
  const db = new DatabaseSync(join(folder, 'troupe.db'), { readOnly: true })
  const rows = db.prepare("SELECT json_extract(data, '$.needs') AS needs FROM events WHERE type = 'run:start'").all()
  db.close()
  expect(new Set(rows.map(({ needs }) => needs)).size).toBe(1)
  expect(String(rows[0]?.needs).length).toBeLessThan(100)
})

test('ND1 where runs are only submitted, the needs are those of the process that executes them', async () => {
  const { program, other } = await openHosts()
  const submitting = await createSubmitOnlyTroupe({
    store: storeOf(program),
    agents,
  })
  const result = submitting.run('task', { agent: 'coder', instruction: 'pay' })
  await expect.poll(() => submitting.runs().all()).toHaveLength(1)
  const [submitted] = await submitting.runs().all()
  const parked = await (await program.claim())?.result
  expect(parked).toMatchObject({ run_id: submitted?.run_id, status: 'waiting' })
  expect((await result).status).toBe('waiting')
  const left = await (await other.answer(parked?.gates[0]?.gate_id ?? '', 'allow')).result
  expect(left.not_continued).toMatchObject({ code: 'needs_missing', alternatives: ['pay'] })
  expect(await (await program.claim())?.result).toMatchObject({ status: 'completed' })
  expect(payments).toHaveLength(1)
  await submitting.close()
})

test('ND4 a tool that was changed since the run started is used, and `checkNeeds` reports it', async () => {
  const { program } = await openHosts()
  const parked = await program.run('task', { agent: 'coder', instruction: 'pay' })
  const next = await createTroupeWithStore({
    store: storeOf(program),
    model: model(),
    agents,
    permissions,
    tools: [payTool('Pays an invoice, in euros.')],
  })
  const report = await next.checkNeeds(parked.run_id)
  expect(report).toMatchObject({ missing: [], changed: [{ kind: 'tools', name: 'pay' }] })
  const result = await (await next.answer(parked.gates[0]?.gate_id ?? '', 'allow')).result
  expect([result.status, payments.length]).toEqual(['completed', 1])
  await next.close()
})

test('ND7 a fork needs the parts of the process that forks, which must have those of the run', async () => {
  const { program, other } = await openHosts()
  const { run_id } = await program.run('task', { agent: 'coder', instruction: 'pay' })
  await expect(other.fork(run_id, 1)).rejects.toMatchObject({ code: 'needs_missing' })
  expect(await program.runs().all()).toHaveLength(1)
  const guarded = await createTroupeWithStore({
    store: storeOf(program),
    model: model(),
    agents,
    permissions,
    tools: [payTool()],
    hooks: [{ name: 'guard', beforeTool: () => undefined }],
  })
  const fork = await (await guarded.fork(run_id, 1)).result
  expect((await needsOf(program, fork.run_id))?.hooks).toEqual([{ name: 'beforeTool:guard' }])
  const left = await (await program.answer(fork.gates[0]?.gate_id ?? '', 'allow')).result
  expect(left.not_continued).toMatchObject({ alternatives: ['beforeTool:guard'] })
  await guarded.close()
})

test.each([
  ['without a subject', {}],
  ['with a subject', { subject: ({ amount }: { amount: number }) => `${amount} euros` }],
])('ND7 a run that waits for permission is replayed without its tool (%s) and rules', async (_title, more) => {
  const { program } = await openHosts({ tools: [{ ...payTool(), ...more } as Tool] })
  const { run_id, status } = await program.run('task', { agent: 'coder', instruction: 'pay' })
  expect(status).toBe('waiting')
  const bare = await createTroupeWithStore({ store: storeOf(program), agents: [] })
  onTestFinished(() => bare.close())
  expect(await bare.replay(run_id)).toMatchObject({ same: true, differences: [] })
})

test('ND6 a run can be cancelled in a process that lacks its tool', async () => {
  const { program, other } = await openHosts()
  const parked = await program.run('task', { agent: 'lead', instruction: 'delegate' })
  await other.answer(parked.gates[0]?.gate_id ?? '', 'allow')
  expect(await other.cancel(parked.run_id)).toMatchObject({ status: 'cancelled' })
  expect(verifyJournal(await program.events(parked.run_id).all())).toEqual([])
  expect(payments).toEqual([])
})

/** Answers the question of a run in a process whose roster lacks some of its agents. */
async function answerWithAgents(parked: RunResult, { program, names }: { program: Troupe; names: string[] }) {
  const next = await createTroupeWithStore({
    ...{ store: storeOf(program), model: model(), permissions, tools: [payTool()], patterns: [ownPattern] },
    agents: agents.filter(({ name }) => names.includes(name)),
  })
  onTestFinished(() => next.close())
  const report = await next.checkNeeds(parked.run_id)
  const result = await (await next.answer(parked.gates[0]?.gate_id ?? '', 'allow')).result
  return { report, status: result.status, missing: result.not_continued?.alternatives }
}

const ownPattern = definePattern({
  name: 'own',
  description: 'Names agents in its code.',
  version: 1,
  input: z.object({}),
  output: z.unknown(),
  category: 'planning',
  async execute(context) {
    await context.perform(context.roster.get('lead'), { instruction: 'pay' }, { key: 'lead' })
    const { text } = await context.perform(context.roster.get('coder'), { instruction: 'pay' }, { key: 'coder' })
    return { success: true, output: text }
  },
})

const lone = { ...team, agents: [{ name: 'payer', uses: 'lead' }] }

test.each<[string, string, object]>([
  ['task', 'task', { agent: 'lead', instruction: 'pay' }],
  ['collaborate', 'collaborate', { task: 'pay', agents: ['lead'], synthesis: 'merge' }],
  ['team', 'team', { team: lone, message: 'pay' }],
])('ND9 an agent that %s has not used can be removed while it waits', async (_title, pattern, input) => {
  const { program } = await openHosts()
  const parked = await program.run(pattern, input)
  const { report, status } = await answerWithAgents(parked, { program, names: ['lead'] })
  expect(report).toMatchObject({ missing: [], unused: [{ kind: 'agents', name: 'coder' }] })
  expect([status, payments.length]).toEqual(['completed', 1])
})

test.each<[string, string, object, string[]]>([
  ['works in the run', 'task', { agent: 'lead', instruction: 'delegate' }, ['lead']],
  ['is named in the input', 'collaborate', { task: 'pay', agents: ['lead', 'coder'], synthesis: 'merge' }, ['lead']],
  ['may be named in the code of a pattern', 'own', {}, ['lead']],
])('ND9 a run is left to others if an agent is missing that %s', async (_title, pattern, input, names) => {
  const { program } = await openHosts({ patterns: [ownPattern] })
  const parked = await program.run(pattern, input)
  const { status, missing } = await answerWithAgents(parked, { program, names })
  expect([status, missing, payments.length]).toEqual(['waiting', ['coder'], 0])
})

test('ND9 an approved delegation is left to a process that has the agent', async () => {
  const { program } = await openHosts({ permissions: { ask: ['task'] } })
  const parked = await program.run('task', { agent: 'lead', instruction: 'delegate' })
  expect(parked.gates[0]?.question).toContain('call task')
  const { status, missing } = await answerWithAgents(parked, { program, names: ['lead'] })
  expect([status, missing]).toEqual(['waiting', ['coder']])
})

test('ND6 a run can be cancelled in a process that has no model', async () => {
  const { program } = await openHosts()
  const parked = await program.run('task', { agent: 'lead', instruction: 'delegate' })
  const other = await createTroupeWithStore({ store: storeOf(program), models: { config: {} }, agents })
  onTestFinished(() => other.close())
  await other.answer(parked.gates[0]?.gate_id ?? '', 'allow')
  expect(await other.cancel(parked.run_id)).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } })
  expect(verifyJournal(await program.events(parked.run_id).all())).toEqual([])
  expect(payments).toEqual([])
})
