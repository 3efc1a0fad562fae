import { isEvent } from '../kernel/event.ts'
import type { World } from '../kernel/world.ts'
import type { GateRow, RunRow, Store } from '../store/store.ts'
import { isOwnerDead } from './lease-owner.ts'

const RUNS_PER_PAGE = 100

/** The runs of a project that wait for a process, oldest first. Another process may take one of them at any time. */
export async function* claimableRuns(store: Store, project: string): AsyncGenerator<RunRow, void> {
  for (let after: string | undefined; ; ) {
    const page = await store.claimableRuns({ project, after, limit: RUNS_PER_PAGE })
    for (const row of page) {
      if (row.owner !== null && !isOwnerDead(row.owner)) continue
      // A run whose commands cannot be read fails when it is claimed, by its name. Here it would hold up all others.
      if (await needsExecution(store, row).catch(() => true)) yield row
    }
    after = page.at(-1)?.run_id
    if (page.length < RUNS_PER_PAGE) return
  }
}

/** True for a run that is not finished and does not only wait for a person. */
export async function needsExecution(store: Store, { run_id, status }: RunRow): Promise<boolean> {
  if (status === 'waiting') return hasUnreadCommand(store, run_id)
  return status === 'pending' || status === 'running'
}

/** True if a command was stored that no owner of the run has turned into an event yet. */
export async function hasUnreadCommand(store: Store, run_id: string): Promise<boolean> {
  for (const { id, body } of await store.commands(run_id, 0)) {
    if (body.kind === 'cancel') return true
    if (body.kind === 'answer' && isOpenGateOf(run_id, await store.gate(body.gate_id))) return true
    if (body.kind === 'steer' && id > (await lastSteeringCommand(store, run_id))) return true
  }
  return false
}

function isOpenGateOf(run_id: string, gate: GateRow | undefined): boolean {
  return gate?.run_id === run_id && gate.answered_at === null
}

async function lastSteeringCommand(store: Store, run_id: string): Promise<number> {
  const last = (await store.events(run_id)).findLast((event) => isEvent(event, 'run:steer'))
  return isEvent(last, 'run:steer') ? last.data.command : 0
}

/** Polled, because nothing is written when an owner dies. */
const POLL_MS = 250

/** Resolves when no other living process executes the run, or when the signal aborts. */
export async function waitWhileLeased(
  { store, world }: { store: Store; world: World },
  run_id: string,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const owner = (await store.run(run_id))?.owner ?? null
    if (owner === null || isOwnerDead(owner)) return
    await world.sleep(POLL_MS, signal).catch(() => {})
  }
}
