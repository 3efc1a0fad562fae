import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { chunkModel, eventData, patternFrom } from '../../test/support/manual-doubles.ts'
import type { PatternReport, Projection } from '../entries/patterns.ts'
import type { TroupeOptions } from '../index.ts'
import { createTroupe } from '../index.ts'
import type { Context } from '../kernel/context.ts'
import { expectRejection } from '../testing/store/store-harness.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-pattern-tables-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const projection: Projection = {
  version: 1,
  events: ['custom:note'],
  tables: [{ name: 'notes', columns: { id: 'text', text: 'text' }, primaryKey: 'id' }],
  rows: ({ data }) => [{ table: 'notes', insert: { id: data.id, text: data.text } }],
}

/** Notes its run, counts the notes of the project, waits for a person, and counts again. */
const notes = patternFrom(
  'notes',
  async (context: Context) => {
    context.emit('note', 'custom:note', { id: context.run_id, text: 'hello' })
    const texts = (await context.query('before', { table: 'notes', where: { text: 'hello' } })).length
    await context.ask('wait', { question: 'continue?' })
    const after = await context.query('after', { table: 'notes', columns: ['text'] })
    return { before: texts, after: after.length }
  },
  { projection },
)

function openTroupe(options: TroupeOptions = {}) {
  const model = chunkModel(() => [])
  return createTroupe({
    store: join(folder, 'store.db'),
    model,
    agents: [],
    patterns: [notes],
    config: false,
    ...options,
  })
}

test('PT12 a pattern queries its tables: own events at once, those of its project only, the same rows after a restart', async () => {
  const first = await openTroupe()
  const other = await openTroupe({ project: 'other' })
  await other.run('notes', {})
  const waiting = await first.run('notes', {})
  await first.run('notes', {})
  await other.close()
  await first.close()
  const second = await openTroupe()
  const { output, run_id } = await (await second.answer(waiting.gates[0]?.gate_id ?? '', 'yes')).result
  expect(output).toEqual({ before: 1, after: 2 })
  const recorded = eventData(await second.events(run_id).all(), 'step:end').map(({ key, result }) => [key, result])
  expect(recorded).toContainEqual([
    'before',
    [{ id: run_id, text: 'hello', project_id: 'default', run_id, inherited: 0 }],
  ])
  expect(recorded).toContainEqual(['after', [{ text: 'hello' }, { text: 'hello' }]])
  const unknown = second.query({ table: 'notes', columns: ['txt'] }).all()
  await expectRejection(unknown, 'invalid_input', /no column 'txt'; known: text/)
  expect(await second.query({ table: 'notes', columns: ['text'] }).all()).toEqual([
    { text: 'hello' },
    { text: 'hello' },
  ])
  expect((await second.replay(run_id)).differences).toEqual([])
  await second.close()
})

test('PT12 a query that fails is recorded, and the pattern can handle it', async () => {
  const failing = patternFrom('failing', (context) =>
    context.query('q', { table: 'nothing' }).catch((error: Error) => error.message),
  )
  const troupe = await openTroupe({ patterns: [notes, failing] })
  const { output, run_id } = await troupe.run('failing', {})
  expect(output).toMatch(/no table 'nothing'; known: notes/)
  expect(eventData(await troupe.events(run_id).all(), 'step:error')).toHaveLength(1)
  await troupe.close()
})

test('PT13 a projection of undeclared events, or with a table that is taken, is rejected', async () => {
  const withProjection = (name: string, more: Partial<Projection>) =>
    patternFrom(name, async () => {}, { projection: { ...projection, ...more } })
  await expectRejection(
    openTroupe({ patterns: [withProjection('a', { events: ['run:end', 'run:start'] })] }),
    'invalid_input',
    /`projection.events` of the pattern 'a': 'run:start' is not declared .*known: custom:note.*run:end/,
  )
  await expectRejection(
    openTroupe({ patterns: [withProjection('a', {}), withProjection('b', {})] }),
    'invalid_input',
    /pattern 'b': the table or index 'notes' belongs to the pattern 'a'/,
  )
})

test('Q7 programs read the tables of patterns page by page, before their first run and in their project only', async () => {
  const writer = await openTroupe()
  for (let n = 0; n < 5; n++) await writer.run('notes', {})
  await writer.close()
  const reader = await openTroupe()
  const query = { table: 'notes', where: { text: 'hello' }, orderBy: { column: 'id' } } as const
  const all = await reader.query(query).all()
  expect(all.map(({ id }) => id)).toEqual((await reader.runs().all()).map(({ run_id }) => run_id).sort())
  const page = await reader.query({ ...query, limit: 3 })
  const rest = await reader.query({ ...query, limit: 3, cursor: page.next ?? '' })
  expect([...page.items, ...rest.items]).toEqual(all)
  expect(rest.next).toBe(null)
  await expectRejection(reader.query({ table: 'nots' }).all(), 'invalid_input', /no table 'nots'; known: notes/)
  const stranger = await openTroupe({ project: 'other' })
  expect(await stranger.query(query).all()).toEqual([])
  await stranger.close()
  await reader.close()
})

test('ST60 runs that are deleted, also by a program without the pattern, leave no rows', async () => {
  const writer = await openTroupe()
  const runs = [await writer.run('notes', {}), await writer.run('notes', {})]
  for (const { run_id } of runs) await writer.cancel(run_id)
  await writer.close()
  const deleter = await openTroupe({ patterns: [] })
  await deleter.deleteRuns([runs[0]?.run_id ?? ''])
  expect((await deleter.query({ table: 'notes' }).all()).map(({ run_id }) => run_id)).toEqual([runs[1]?.run_id])
  await deleter.close()
})

test('ST72 a fork of a run has rows of its own, which queries of the project do not count twice', async () => {
  const troupe = await openTroupe()
  const { run_id } = await troupe.run('notes', {})
  const events = await troupe.events(run_id).all()
  const asked = events.find(({ type }) => type === 'gate:open')
  const fork = await troupe.fork(run_id, asked?.seq ?? 0)
  const waiting = await fork.result
  expect(await troupe.query({ table: 'notes' }).all()).toHaveLength(1)
  expect(await troupe.query({ table: 'notes', where: { run_id: fork.run_id } }).all()).toHaveLength(1)
  const { output } = await (await troupe.answer(waiting.gates[0]?.gate_id ?? '', 'yes')).result
  // The id of the note is that of the run, which the fork renames in what it inherits: the original is another note.
  expect(output).toEqual({ before: 1, after: 2 })
  await troupe.close()
})

test('Q8 reports are computed from the tables of the project, with the grouping and the time asked for', async () => {
  const report: PatternReport = {
    by: ['text', 'run'],
    columns: [{ name: 'notes', title: 'notes', unit: 'count' }],
    tables: { notes: 'noted_at' },
    compute: ({ notes: rows = [] }, by) => ({
      groups: [...Map.groupBy(rows, (row) => String(by === 'run' ? row.run_id : row.text))].map(([group, members]) => ({
        group,
        figures: { notes: members.length },
      })),
      total: { group: 'total', figures: { notes: rows.length } },
      notes: [],
    }),
  }
  const timed: Projection = {
    ...projection,
    tables: [{ name: 'notes', columns: { id: 'text', text: 'text', noted_at: 'integer' }, primaryKey: 'id' }],
    rows: ({ data, at }) => [{ table: 'notes', insert: { id: data.id, text: data.text, noted_at: at } }],
  }
  const noting = patternFrom(
    'noting',
    async (context: Context) => context.emit('note', 'custom:note', { id: context.run_id, text: 'hello' }),
    { projection: timed, report },
  )
  const troupe = await openTroupe({ patterns: [noting] })
  const { run_id } = await troupe.run('noting', {})
  await troupe.fork(run_id, 3).then(({ result }) => result)
  const stranger = await openTroupe({ patterns: [noting], project: 'other' })
  await stranger.run('noting', {})
  await stranger.close()
  const [found, ...others] = await troupe.reports({ pattern: 'noting' })
  expect(others).toEqual([])
  expect(found).toMatchObject({ pattern: 'noting', by: 'text', groups: [{ group: 'hello', figures: { notes: 1 } }] })
  expect((await troupe.reports({ by: 'run' }))[0]?.groups).toEqual([{ group: run_id, figures: { notes: 1 } }])
  expect((await troupe.reports({ by: 'run', since: Date.now() + 1e6 }))[0]?.total.figures.notes).toBe(0)
  await expectRejection(troupe.reports({ by: 'day' }), 'invalid_input', /'day'; known: .*text/)
  await expectRejection(troupe.reports({ pattern: 'task' }), 'invalid_input', /'task'; known: .*noting/)
  await troupe.close()
})
