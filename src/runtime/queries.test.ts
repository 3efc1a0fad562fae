import { expect, test } from 'vitest'
import { chunkModel, patternFrom, textChunks } from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent, createTestTroupe } from '../../test/support/test-troupe.ts'
import type { Troupe, TroupeOptions } from '../index.ts'
import { loadPrices } from '../models/pricing.ts'
import type { PagedQuery, PageRequest } from './paged-query.ts'

/** Asks two questions at once and writes three versions of an artifact. */
const asking = patternFrom('asking', async (context) => {
  for (const content of ['one', 'two', 'three']) await context.writeArtifact(content, { name: 'plan', content })
  await Promise.all([context.ask('a', { question: 'first?' }), context.ask('b', { question: 'second?' })])
})

function openTroupe(options: TroupeOptions = {}) {
  return createTestTroupe({
    model: chunkModel(() => textChunks('hello')),
    agents: [agent('worker')],
    patterns: [asking],
    ...options,
  })
}

/** The titles of the runs of `task`, in words: a digit would also find the runs whose random id begins with it. */
const TITLES = ['task zero', 'task one', 'task two', 'task three', 'task four']

/** A project with five runs of `task`, a waiting run of `asking`, and a run of another project in the same store. */
async function queryFixture() {
  const store = memoryStore()
  const { troupe } = await openTroupe({ store, project: 'one' })
  const { troupe: other } = await openTroupe({ store, project: 'two' })
  for (const instruction of TITLES) await troupe.run('task', { agent: 'worker', instruction })
  const { run_id } = await troupe.run('asking', {})
  const foreign = await other.run('asking', {})
  return { troupe, other, run_id, foreign: foreign.run_id }
}

/** The queries of a troupe for the five lists. */
function lists(troupe: Troupe, run_id: string): Record<string, (page?: PageRequest) => PagedQuery<unknown>> {
  return {
    runs: (page) => troupe.runs(page),
    sessions: (page) => troupe.sessions(page),
    events: (page) => troupe.events(run_id, page),
    gates: (page) => troupe.gates(page),
    artifacts: (page) => troupe.artifacts(run_id, page),
  }
}

async function itemsByPage(query: (page?: PageRequest) => PagedQuery<unknown>, limit: number): Promise<unknown[]> {
  const items: unknown[] = []
  let cursor: string | null = null
  do {
    const page: { items: unknown[]; next: string | null } = await query({ limit, ...(cursor ? { cursor } : undefined) })
    expect(page.items.length).toBeLessThanOrEqual(limit)
    items.push(...page.items)
    cursor = page.next
  } while (cursor !== null)
  return items
}

test('Q1 runs, sessions, events, gates and artifacts are read by page, by item or all at once, with the same items', async () => {
  const { troupe, run_id } = await queryFixture()
  const sizes: Record<string, number> = {}
  for (const [name, query] of Object.entries(lists(troupe, run_id))) {
    const all = await query().all()
    sizes[name] = all.length
    for (const limit of [1, 2, all.length, 1000]) expect(await itemsByPage(query, limit), name).toEqual(all)
    const iterated: unknown[] = []
    for await (const item of query({ limit: 2 })) iterated.push(item)
    expect(iterated, name).toEqual(all)
    expect((await query()).next, name).toBe(null)
  }
  expect(sizes).toMatchObject({ runs: 6, sessions: 5, gates: 2, artifacts: 3 })
  expect(sizes.events).toBeGreaterThan(5)
})

test('Q1 lists are filtered: runs by status and pattern, sessions and gates by run, events by session and `after`', async () => {
  const { troupe, run_id } = await queryFixture()
  expect((await troupe.runs({ status: ['waiting'] }).all()).map((run) => run.run_id)).toEqual([run_id])
  const [task] = await troupe.runs({ pattern: 'task' }).all()
  expect(task?.pattern).toBe('task')
  const [session] = await troupe.sessions({ run_id: task?.run_id ?? '' }).all()
  expect(session?.run_id).toBe(task?.run_id)
  const events = await troupe.events(task?.run_id ?? '', { session_id: session?.session_id ?? '', after: 4 }).all()
  expect(events.length).toBeGreaterThan(0)
  expect(events.every((event) => event.seq > 4 && event.session_id === session?.session_id)).toBe(true)
  expect(await troupe.gates({ run_id: task?.run_id ?? '' }).all()).toEqual([])
})

test('Q1 a page continues where the last one ended, even if its gate was answered meanwhile', async () => {
  const { troupe } = await queryFixture()
  const all = await troupe.gates().all()
  const first = await troupe.gates({ limit: 1 })
  await troupe.answer(first.items[0]?.gate_id ?? '', 'yes', { resume: false })
  const second = await troupe.gates({ limit: 1, cursor: first.next ?? '' })
  expect([...first.items, ...second.items]).toEqual(all)
})

test('Q2 nothing of another project is listed or found', async () => {
  const { troupe, other, run_id, foreign } = await queryFixture()
  expect((await other.runs().all()).map((run) => run.run_id)).toEqual([foreign])
  expect(await other.sessions().all()).toEqual([])
  expect((await other.gates().all()).map((gate) => gate.run_id)).toEqual([foreign, foreign])
  const request: object = { project: 'one' }
  expect((await other.runs(request).all()).map((run) => run.run_id)).toEqual([foreign])
  expect(await other.sessions(request).all()).toEqual([])
  expect(await other.gates(request).all()).toEqual(await other.gates().all())
  const [gate] = await troupe.gates().all()
  const [session] = await troupe.sessions().all()
  const unknownRun = { code: 'unknown_run' }
  const missing = undefined as never
  await expect(other.getRun(missing)).rejects.toMatchObject(unknownRun)
  await expect(other.getGate(missing)).rejects.toMatchObject({ code: 'unknown_gate' })
  await expect(other.getSession(missing)).rejects.toMatchObject({ code: 'unknown_session' })
  await expect(other.events(run_id)).rejects.toMatchObject(unknownRun)
  await expect(other.artifacts(run_id)).rejects.toMatchObject(unknownRun)
  await expect(other.gates({ run_id })).rejects.toMatchObject(unknownRun)
  await expect(other.getRun(run_id)).rejects.toMatchObject(unknownRun)
  await expect(other.getArtifact(run_id, 'plan')).rejects.toMatchObject(unknownRun)
  await expect(other.getGate(gate?.gate_id ?? '')).rejects.toMatchObject({ code: 'unknown_gate' })
  await expect(other.getSession(session?.session_id ?? '')).rejects.toMatchObject({ code: 'unknown_session' })
})

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

test('ST76 ST77 runs of the project are found by words, page by page, and counted by status', async () => {
  const { troupe, other, run_id } = await queryFixture()
  const find = async (text: string) => (await troupe.runs({ text, limit: 2 }).all()).map(({ title }) => title)
  expect(await find('TASK THREE')).toEqual(['task three'])
  expect(await find('worker hel')).toEqual(TITLES.toReversed())
  expect((await troupe.runs({ text: run_id })).items).toMatchObject([{ run_id }])
  expect(await other.runs({ text: 'worker' }).all()).toEqual([])
  for (const text of ['a b c d e f g h i', 7 as unknown as string])
    await expect(troupe.runs({ text })).rejects.toMatchObject({ code: 'invalid_input' })
  expect(await troupe.countRuns()).toMatchObject({ completed: 5, waiting: 1, running: 0 })
  expect(await other.countRuns()).toMatchObject({ completed: 0, waiting: 1 })
})

test('Q6 accounts have a row for each model request of the project, newest run first, or of one run, or since a time', async () => {
  const { troupe, other, run_id, foreign } = await queryFixture()
  const prices = await loadPrices()
  const rows = await collect(troupe.accounts({ prices }))
  const tasks = (await troupe.runs({ pattern: 'task' }).all()).map((run) => run.run_id)
  expect(rows.map((row) => row.run_id)).toEqual(tasks)
  expect(rows[0]).toMatchObject({ pattern: 'task', agent: 'worker', status: 'ended', usd: null })
  const read = (query: { run_id?: string; since?: number }) => collect(troupe.accounts({ prices, ...query }))
  expect(await read({ run_id: tasks[2] ?? '' })).toEqual(rows.slice(2, 3))
  expect(await read({ run_id })).toEqual([])
  expect(await read({ since: Date.now() + 60_000 })).toEqual([])
  expect(await collect(other.accounts({ prices }))).toEqual([])
  await expect(read({ run_id: foreign })).rejects.toMatchObject({ code: 'unknown_run' })
})

test('Q3 a cursor of another list, filter, run or project, and a text that is no cursor, are rejected', async () => {
  const { troupe, other, run_id, foreign } = await queryFixture()
  const invalid = (message: RegExp) => ({ code: 'invalid_input', message: expect.stringMatching(message) })
  const cursorOf = async (query: PagedQuery<unknown>) => (await query).next ?? ''
  const runs = await cursorOf(troupe.runs({ limit: 1 }))
  const events = await cursorOf(troupe.events(run_id, { limit: 1 }))
  const foreignCursor = /cursor of another list, filter or project/
  await expect(troupe.sessions({ cursor: runs })).rejects.toMatchObject(invalid(foreignCursor))
  await expect(troupe.runs({ pattern: 'task', cursor: runs })).rejects.toMatchObject(invalid(foreignCursor))
  await expect(other.runs({ cursor: runs })).rejects.toMatchObject(invalid(foreignCursor))
  await expect(other.events(foreign, { cursor: events })).rejects.toMatchObject(invalid(foreignCursor))
  for (const cursor of ['', 'x', 'eyJh', Buffer.from('[1,2]').toString('base64url'), '🦊'])
    await expect(troupe.runs({ cursor })).rejects.toMatchObject(invalid(/`cursor` is not a cursor/))
  for (const limit of [0, -1, 1.5, 1001, Number.NaN])
    await expect(troupe.runs({ limit })).rejects.toMatchObject(invalid(/`limit`/))
  for (const after of [-1, 1.5, Number.NaN])
    await expect(troupe.events(run_id, { after })).rejects.toMatchObject(invalid(/`after`/))
  for (const option of ['status', 'tags'])
    await expect(troupe.runs({ [option]: 'x' })).rejects.toMatchObject(invalid(new RegExp(`\`${option}\``)))
})

test('Q4 one run, session, gate or artifact is found by its id; an unknown artifact lists the known ones', async () => {
  const { troupe, run_id } = await queryFixture()
  expect(await troupe.getRun(run_id)).toMatchObject({ run_id, pattern: 'asking', status: 'waiting' })
  const [gate] = await troupe.gates().all()
  expect(await troupe.getGate(gate?.gate_id ?? '')).toEqual(gate)
  const [session] = await troupe.sessions().all()
  expect(await troupe.getSession(session?.session_id ?? '')).toEqual(session)
  expect(await troupe.getArtifact(run_id, 'plan')).toMatchObject({ version: 3, content: 'three' })
  expect(await troupe.getArtifact(run_id, 'plan', 1)).toMatchObject({ content: 'one' })
  const unknown = (alternatives: string[]) => ({ code: 'invalid_input', alternatives })
  await expect(troupe.getArtifact(run_id, 'plam')).rejects.toMatchObject(unknown(['plan']))
  await expect(troupe.getArtifact(run_id, 'plan', 9)).rejects.toMatchObject({ code: 'invalid_input' })
  expect(troupe.storeStatus()).toEqual({ location: 'memory', loss: null, not_yours: null })
})

test('Q5 a listener of `onChange` hears of commits and commands, and cannot fail them', async () => {
  const { troupe } = await openTroupe()
  let changes = 0
  const unsubscribe = troupe.onChange(() => {
    changes += 1
    throw new Error('a bug in a listener')
  })
  troupe.onChange(async () => {
    await Promise.reject(new Error('a bug in an async listener'))
  })
  expect((await troupe.run('task', { agent: 'worker', instruction: 'go' })).status).toBe('completed')
  unsubscribe()
  const heard = changes
  await troupe.run('task', { agent: 'worker', instruction: 'go' })
  expect(heard).toBeGreaterThan(1)
  expect(changes).toBe(heard)
})
