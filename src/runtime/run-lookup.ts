import { TroupeError, unknownNameError } from '../errors.ts'
import { isEvent } from '../kernel/event.ts'
import type { World } from '../kernel/world.ts'
import type { GateRow, RunRow, Store } from '../store/store.ts'
import type { RunResult } from './run-handle.ts'

/** A run as it stands now. */
export async function readRunResult(store: Store, world: World, run_id: string): Promise<RunResult> {
  const row = await store.run(run_id)
  if (!row) throw unknownNameError('unknown_run', { kind: 'run', name: run_id, known: [] })
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

/** A run of this project; another is as unknown as none. */
export async function requireRun(store: Store, project: string, run_id: string): Promise<RunRow> {
  const row = await store.run(run_id)
  if (row && row.project === project) return row
  const known = await store.runs({ project, limit: 100 })
  throw unknownNameError('unknown_run', { kind: 'run', name: run_id, known: known.map((run) => run.run_id) })
}

export async function gateNotFoundError(store: Store, project: string, gate_id: string): Promise<TroupeError> {
  const open = await store.openGates({ project })
  return unknownNameError('unknown_gate', { kind: 'question', name: gate_id, known: open.map((gate) => gate.gate_id) })
}

export function checkChoice(gate: GateRow, answer: unknown): void {
  if (!gate.choices || gate.choices.some((choice) => choice === answer)) return
  throw new TroupeError('invalid_input', `'${String(answer)}' is no answer to "${gate.question}"`, {
    alternatives: gate.choices,
    hint: `answer one of: ${gate.choices.join(', ')}`,
  })
}

/** Another process works on the run: it will see the command. */
export function ignoreBusy(error: unknown): void {
  if (!(error instanceof TroupeError) || error.code !== 'run_busy') throw error
}
