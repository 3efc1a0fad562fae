import { isEvent } from '../kernel/event.ts'
import type { World } from '../kernel/world.ts'
import { unknownGateError, unknownRunError } from '../store/preconditions.ts'
import type { GateRow, RunRow, Store } from '../store/store.ts'
import type { RunResult } from './run-handle.ts'

/** The current status and result of a run. */
export async function readRunResult(store: Store, world: World, run_id: string): Promise<RunResult> {
  const row = await store.run(run_id)
  if (!row) throw unknownRunError(run_id, [])
  const ended = row.ended_at !== null
  const [last] = ended ? (await store.events(run_id, { after: row.head - 1 })).slice(-1) : []
  const end = isEvent(last, 'run:end') ? last.data : undefined
  const { calls, input, output, cache_read, cache_write, usd } = row.usage
  return {
    run_id,
    status: row.status,
    stop_reason: row.stop_reason,
    output: end?.output ?? null,
    error: end?.error ?? null,
    usage: { calls, input, output, cache_read, cache_write, usd },
    duration_ms: (row.ended_at ?? world.now()) - row.created_at,
    gates: await store.openGates({ run_id }),
  }
}

/** Finds a run of this project. A run of another project is `unknown_run`. */
export async function requireRun(store: Store, project: string, run_id: string): Promise<RunRow> {
  const row = await store.run(run_id)
  if (row?.project === project) return row
  const known = await store.runs({ project, limit: 100 })
  throw unknownRunError(
    run_id,
    known.map((run) => run.run_id),
  )
}

/** Finds a gate of this project. A gate of another project is `unknown_gate`. */
export async function requireGate(store: Store, project: string, gate_id: string): Promise<GateRow> {
  const gate = await store.gate(gate_id)
  if (gate?.project === project) return gate
  const open = await store.openGates({ project })
  throw unknownGateError(
    gate_id,
    open.map((row) => row.gate_id),
  )
}
