import { copyJson } from '../engine/copy-json.ts'
import type { EndedRun } from '../engine/engine.ts'
import { isIncomplete } from '../engine/run-history.ts'
import { TroupeError } from '../errors.ts'
import type { Event, RunEnd } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Spend } from '../kernel/spend.ts'
import type { World } from '../kernel/world.ts'
import { definedFields } from '../schema/json-value.ts'
import { unknownGateError, unknownRunError } from '../store/preconditions.ts'
import type { GateRow, RunRow, Store } from '../store/store.ts'
import type { RunResult } from './run-handle.ts'

/** The current status and result of a run. */
export async function readRunResult(
  { store, world }: { store: Store; world: World },
  run_id: string,
): Promise<RunResult> {
  const row = await store.run(run_id)
  if (!row) throw unknownRunError(run_id)
  const last = row.ended_at === null ? undefined : await readLastEvent(store, row)
  const end = isEvent(last, 'run:end') ? last.data : undefined
  return {
    run_id,
    status: resultStatus(row),
    stop_reason: row.stop_reason,
    output: copyJson(end?.output ?? null),
    error: end?.error ?? null,
    usage: toResultUsage(row.usage),
    duration_ms: (row.ended_at ?? world.now()) - row.created_at,
    gates: row.open_gates === 0 ? [] : copyJson(await store.openGates({ run_id })),
    ...incompleteField(end),
  }
}

/** The result of a run that has just ended here, without a read. */
export function endedRunResult({ end, created_at, usage }: EndedRun): RunResult {
  const { stop_reason, error } = end.data
  const status = resultStatus(end.data)
  const output = copyJson(end.data.output)
  const duration_ms = end.at - created_at
  const result = { run_id: end.run_id, status, stop_reason, output, error, usage: toResultUsage(usage), duration_ms }
  return { ...result, gates: [], ...incompleteField(end.data) }
}

/** Done in part is not done: a program must not have to compare a second field. */
function resultStatus({ status, stop_reason }: Pick<RunRow, 'status' | 'stop_reason'>): RunResult['status'] {
  return status === 'completed' && stop_reason !== 'completed' ? 'partial' : status
}

function incompleteField(end: RunEnd | undefined): Pick<RunResult, 'incomplete'> {
  return end && isIncomplete(end) ? { incomplete: true } : {}
}

function toResultUsage({ calls, input, output, cache_read, cache_write, usd }: Spend): RunResult['usage'] {
  return { calls, input, output, cache_read, cache_write, usd }
}

async function readLastEvent(store: Store, { run_id, head }: RunRow): Promise<Event | undefined> {
  return (await store.events(run_id, { after: head - 1 })).at(-1)
}

/** Throws `invalid_input` unless `after` is 0 or the seq of an event. `head` is the seq of the last one. */
export function checkAfter(after: number, head: number = Number.MAX_SAFE_INTEGER): void {
  if (Number.isSafeInteger(after) && after >= 0 && after <= head) return
  throw new TroupeError('invalid_input', `\`after\` is ${after}, not the seq of an event`, {
    hint: 'pass the `seq` of the last event that you have, or 0 for all events',
  })
}

/** Finds a run of this project. A run of another project is `unknown_run`. */
export async function requireRun(store: Store, project: string, run_id: string): Promise<RunRow> {
  // A missing command-line argument, for example, gives `undefined`, which a store cannot look up.
  const row = typeof run_id === 'string' ? await store.run(run_id) : undefined
  if (row?.project === project) return row
  throw unknownRunError(String(run_id), await store.runs({ project, limit: 100 }))
}

/** All runs of a project by page, newest first. */
export async function* runPages(store: Store, project: string, limit: number): AsyncGenerator<RunRow[], void> {
  for (let before: string | undefined; ; ) {
    const page = await store.runs({ project, limit, ...definedFields({ before }) })
    yield page
    before = page.at(-1)?.run_id
    if (page.length < limit) return
  }
}

/** Finds a gate of this project. A gate of another project is `unknown_gate`. */
export async function requireGate(store: Store, project: string, gate_id: string): Promise<GateRow> {
  const gate = typeof gate_id === 'string' ? await store.gate(gate_id) : undefined
  if (gate?.project === project) return gate
  throw unknownGateError(String(gate_id), await store.openGates({ project }))
}
