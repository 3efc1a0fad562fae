import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { verifyJournal } from '../../src/audit/verify-journal.ts'
import type { Event, Troupe } from '../../src/index.ts'
import { createSubmitOnlyTroupe } from '../support/submit-only-troupe.ts'
import { agent } from '../support/test-troupe.ts'

const WORKER = fileURLToPath(new URL('./worker-child.ts', import.meta.url))
let store: string
let troupe: Troupe
let workers: ChildProcess[] = []

beforeEach(async () => {
  store = mkdtempSync(join(tmpdir(), 'troupe-workers-'))
  troupe = await createSubmitOnlyTroupe({ store, agents: [agent('lead')] })
})
afterEach(async () => {
  await Promise.all(workers.map(killWorker))
  workers = []
  await troupe.close()
  rmSync(store, { recursive: true, force: true })
})

async function startWorker(env: Record<string, string> = {}): Promise<ChildProcess> {
  const worker = spawn(process.execPath, [WORKER, store], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  workers.push(worker)
  if (worker.stdout) await once(worker.stdout, 'data')
  return worker
}

async function killWorker(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return
  worker.kill('SIGKILL')
  await once(worker, 'exit')
}

function owners(events: readonly Event[]): number[] {
  return events.flatMap((event) => (event.type === 'run:attempt' ? Number(event.data.owner.split('|')[1]) : []))
}

test('E16 E17 a process that only submits gets the result of a run that another process claims', async () => {
  const result = troupe.run('task', { agent: 'lead', instruction: 'work' })
  await expect.poll(() => troupe.runs().all()).toMatchObject([{ status: 'pending', owner: null }])
  const worker = await startWorker()
  expect(await result).toMatchObject({ status: 'completed', output: { response: `done by ${worker.pid}` } })
  expect(owners(await troupe.events((await result).run_id).all())).toEqual([worker.pid])
})

test('E18 two workers share twenty runs, and each run is executed once', async () => {
  const runs = Array.from({ length: 20 }, () => troupe.run('task', { agent: 'lead', instruction: 'work' }))
  const [first, second] = await Promise.all([startWorker(), startWorker()])
  for (const { run_id, status } of await Promise.all(runs)) {
    const events = await troupe.events(run_id).all()
    expect(status).toBe('completed')
    expect(owners(events)).toHaveLength(1)
    expect([first?.pid, second?.pid]).toContain(owners(events)[0])
    expect(verifyJournal(events)).toEqual([])
  }
})

test('E17 an answer given by a process that only submits makes a worker claim the waiting run', async () => {
  const worker = await startWorker()
  const waiting = await troupe.run('task', { agent: 'lead', instruction: 'ask' })
  expect(waiting.status).toBe('waiting')
  const [gate] = await troupe.gates().all()
  const handle = await troupe.answer(gate?.gate_id ?? '', 'the first')
  expect(await handle.result).toMatchObject({ status: 'completed', output: { response: `done by ${worker.pid}` } })
  expect(owners(await troupe.events(waiting.run_id).all())).toEqual([worker.pid, worker.pid])
})

test('E17 a run whose worker was killed is claimed by the next one', async () => {
  const first = await startWorker()
  const handle = await troupe.stream('task', { agent: 'lead', instruction: 'hang once' })
  await expect
    .poll(async () => (await troupe.events(handle.run_id).all()).map(({ type }) => type))
    .toContain('model:begin')
  await killWorker(first)
  const second = await startWorker({ SECOND: '1' })
  const result = await handle.result
  expect(result).toMatchObject({ status: 'completed', output: { response: `done by ${second.pid}` } })
  expect(owners(await troupe.events(handle.run_id).all())).toEqual([first.pid, second.pid])
})
