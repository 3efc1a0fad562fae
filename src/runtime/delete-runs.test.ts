import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { agent, functionModel, runToEnd } from '../../test/support/test-troupe.ts'
import { realWorld } from '../engine/real-world.ts'
import type { TaskOutput, Troupe } from '../index.ts'
import { createTroupe } from '../index.ts'
import type { Retention } from './delete-runs.ts'

const DAY_MS = 24 * 60 * 60 * 1000

function temporaryStore(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-prune-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A troupe whose clock is this many days behind. */
async function troupeDaysAgo(store: string, days: number, retention?: Retention): Promise<Troupe> {
  const world = { ...realWorld(), now: () => Date.now() - days * DAY_MS }
  const model = functionModel(({ messages }) => {
    if (JSON.stringify(messages).includes('fail')) throw new Error('no answer')
    return { text: 'done' }
  })
  const troupe = await createTroupe({
    store,
    model,
    agents: [agent('lead')],
    engine: { world },
    ...(retention ? { retention } : undefined),
  })
  onTestFinished(() => troupe.close())
  return troupe
}

const runTask = async (troupe: Troupe, instruction: string, more = {}) =>
  runToEnd(troupe, 'task', { agent: 'lead', instruction, ...more })

const runIds = async (troupe: Troupe) => (await troupe.runs().all()).map(({ run_id }) => run_id)

test('P40 prune deletes runs that ended long ago, keeps failed ones if asked, and only reports with dry_run', async () => {
  const store = temporaryStore()
  const past = await troupeDaysAgo(store, 40)
  const old = await runTask(past, 'do it')
  const failed = await runTask(past, 'fail')
  await past.close()
  const troupe = await troupeDaysAgo(store, 0)
  const young = await runTask(troupe, 'do it')
  const options = { max_age_days: 30, keep_failed: true }
  const planned = await troupe.prune({ ...options, dry_run: true })
  expect(planned).toMatchObject({ run_ids: [old.run_id], kept: [], freed: 0 })
  expect(planned.bytes).toBeGreaterThan(0)
  expect(await runIds(troupe)).toEqual([young.run_id, failed.run_id, old.run_id])
  expect(await troupe.prune(options)).toMatchObject({ run_ids: [old.run_id], freed: expect.any(Number) })
  expect(await runIds(troupe)).toEqual([young.run_id, failed.run_id])
  expect(await troupe.prune({ max_age_days: 30 })).toMatchObject({ run_ids: [failed.run_id] })
  await expect(troupe.prune({ max_age_days: -1 })).rejects.toMatchObject({ code: 'invalid_input' })
  expect(await troupe.verify()).toMatchObject({ findings: [] })
})

test('P40 an old run whose session a newer run continues is kept, and the newer run still works', async () => {
  const store = temporaryStore()
  const past = await troupeDaysAgo(store, 40)
  const old = await runTask(past, 'begin')
  await past.close()
  const troupe = await troupeDaysAgo(store, 0)
  const { session_id } = old.output as TaskOutput
  const young = await troupe.run('task', { session_id, instruction: 'go on' })
  expect(await troupe.prune({ max_age_days: 30 })).toMatchObject({ run_ids: [], kept: [old.run_id] })
  await expect(troupe.deleteRuns([old.run_id])).rejects.toMatchObject({
    code: 'session_busy',
    hint: expect.stringContaining(`troupe delete ${old.run_id} ${young.run_id}`),
  })
  const third = await troupe.run('task', { session_id, instruction: 'go on' })
  expect((third.output as TaskOutput).turn_count).toBe(3)
  const all = [old.run_id, young.run_id, third.run_id]
  expect((await troupe.deleteRuns(all)).run_ids).toEqual(all)
  expect(await runIds(troupe)).toEqual([])
})

test('P41 with `retention`, old runs are deleted when the troupe is closed; without it, never', async () => {
  const store = temporaryStore()
  const past = await troupeDaysAgo(store, 40)
  const old = await runTask(past, 'do it')
  await past.close()
  const plain = await troupeDaysAgo(store, 0)
  await runTask(plain, 'do it')
  await plain.close()
  const retaining = await troupeDaysAgo(store, 0, { max_age_days: 30 })
  expect(await runIds(retaining)).toContain(old.run_id)
  await retaining.close()
  await retaining.close()
  const after = await troupeDaysAgo(store, 0)
  expect(await runIds(after)).toHaveLength(1)
  await expect(troupeDaysAgo(store, 0, { max_age_days: Number.NaN })).rejects.toMatchObject({ code: 'invalid_input' })
})
