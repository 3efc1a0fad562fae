import { claimableRuns } from '../engine/claimable-runs.ts'
import { LEASE_MS } from '../engine/lease-heartbeat.ts'
import type { TroupeError } from '../errors.ts'
import { toTroupeError } from '../errors.ts'
import type { Change } from '../store/changes.ts'
import { issueWarning } from './issue-warning.ts'
import type { RunController } from './run-controller.ts'
import { claimRun } from './run-controller.ts'

/*
 * A worker: executes the runs of its project that wait for a process.
 * 1. It looks when something was committed or commanded, and once per lease for owners that were killed, which commit nothing.
 * 2. The error of a run, or of a look at the store, is reported and ends nothing.
 * 3. A run that this process cannot execute is left to others, and reported once.
 * 4. A run whose execution failed with an error of its own, such as a damaged journal, is tried again once per lease at most: otherwise it
 *    would be claimed for ever and hold up newer ones (starvation).
 */

export interface WorkOptions {
  /** Ends the work. Runs in progress go on until they end or the troupe is closed. */
  signal?: AbortSignal
  /** Runs that it executes at once. Default: 16. */
  concurrency?: number
  /** Called with the error of a run that could not be executed, or of the store. Default: a warning of the process. */
  onError?(error: TroupeError, run_id?: string): void
  /** Called once for each run that waits and that this process cannot execute. Default: a warning of the process. */
  onSkip?(run_id: string): void
}

const DEFAULT_CONCURRENCY = 16

interface Worker extends Required<Omit<WorkOptions, 'signal'>> {
  controller: RunController
  active: Set<string>
  skipped: Set<string>
  /** Runs that could not be executed, with the time of the next attempt. */
  failed: Map<string, number>
  /** Called when there may be something to do. */
  wake(): void
  isStale: boolean
}

/** Executes runs that were submitted, answered or interrupted, until the signal is aborted. */
export async function workUntil(controller: RunController, signal: AbortSignal, options: WorkOptions): Promise<void> {
  const { store, world } = controller.parts
  const worker: Worker = {
    controller,
    concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
    onError: options.onError ?? warnOfError,
    onSkip: options.onSkip ?? warnOfSkip,
    active: new Set(),
    skipped: new Set(),
    failed: new Map(),
    wake: () => {},
    isStale: true,
  }
  const look = () => {
    worker.isStale = true
    worker.wake()
  }
  const unsubscribe = store.changes.subscribe((change) => concernsWorkers(change) && look())
  const onAbort = () => worker.wake()
  signal.addEventListener('abort', onAbort)
  try {
    while (!signal.aborted) {
      worker.isStale = false
      await claimAll(worker, signal, look)
      if (worker.isStale || signal.aborted) continue
      const woken = new Promise<void>((resolve) => {
        worker.wake = resolve
      })
      const cancel = world.after(LEASE_MS, look)
      await woken
      cancel()
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    unsubscribe()
  }
}

/** Commits of runs in progress are no work; a new run, a command and a commit by another process may be. */
function concernsWorkers(change: Change): boolean {
  return change.kind !== 'events' || change.events.some(({ type }) => type === 'run:start')
}

async function claimAll(worker: Worker, signal: AbortSignal, look: () => void): Promise<void> {
  const { controller, active, concurrency, failed, onError } = worker
  try {
    while (active.size < concurrency && !signal.aborted) {
      const handle = await claimRun(controller, failedNow(worker))
      if (!handle) break
      const { run_id, result } = handle
      active.add(run_id)
      const release = () => {
        active.delete(run_id)
        look()
      }
      const reportFailure = (thrown: unknown) => {
        failed.set(run_id, controller.parts.world.now() + LEASE_MS)
        onError(toTroupeError(thrown), run_id)
      }
      result.catch(reportFailure).finally(release)
    }
    if (active.size < concurrency && !signal.aborted) await reportSkipped(worker)
  } catch (thrown) {
    onError(toTroupeError(thrown))
  }
}

function failedNow({ controller, failed }: Worker): ReadonlySet<string> {
  const now = controller.parts.world.now()
  for (const [run_id, next] of failed) if (next <= now) failed.delete(run_id)
  return new Set(failed.keys())
}

/** Runs that are left after everything was claimed cannot be executed here, unless it has changed meanwhile. */
async function reportSkipped(worker: Worker): Promise<void> {
  const { store, project, engine } = worker.controller.parts
  const left: string[] = []
  for await (const { run_id } of claimableRuns(store, project)) {
    if (!worker.skipped.has(run_id) && !worker.failed.has(run_id) && !engine.active.includes(run_id)) left.push(run_id)
  }
  if (worker.isStale) return
  for (const run_id of left) {
    worker.skipped.add(run_id)
    worker.onSkip(run_id)
  }
}

function warnOfError({ code, message }: TroupeError, run_id?: string): void {
  issueWarning(`troupe: work: ${run_id === undefined ? '' : `run ${run_id}: `}${code}: ${message}`)
}

function warnOfSkip(run_id: string): void {
  issueWarning(
    `troupe: work: run ${run_id} is left alone: this process lacks a part that it needs. See: troupe show ${run_id}`,
  )
}
