import type { TroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import type { RunLeaseState } from './preconditions.ts'
import { currentLease, gateAnsweredError, isEnded, unknownGateError } from './preconditions.ts'
import type { RunProjection } from './projection.ts'
import type { ArtifactRow, Command, GateRow, RunRow } from './store.ts'

export interface MemoryRun {
  identity: Pick<RunRow, 'run_id' | 'project' | 'pattern' | 'title' | 'tags' | 'created_at'>
  projection: RunProjection
  epoch: number
  owner: string | null
  lease_until: number | null
  events: Event[]
  commands: Command[]
  gates: GateRow[]
  artifacts: ArtifactRow[]
}

export function leaseState(run: MemoryRun): RunLeaseState {
  const { identity, projection, epoch, owner, lease_until } = run
  return { run_id: identity.run_id, status: projection.status, epoch, head: run.events.length, owner, lease_until }
}

export function releaseLease(run: MemoryRun): void {
  run.owner = null
  run.lease_until = null
}

export function toRunRow(run: MemoryRun, now: number): RunRow {
  const { identity, projection, epoch, gates, events } = run
  const open_gates = isEnded(projection.status) ? 0 : gates.filter((gate) => gate.answered_at === null).length
  return { ...identity, ...projection, head: events.length, epoch, ...currentLease(run, now), open_gates }
}

/** A copy of the row, with an answer that waits for the owner of the run. */
export function toGateRow({ row, run }: { row: GateRow; run: MemoryRun }): GateRow {
  const answer = run.commands.find(({ body }) => body.kind === 'answer' && body.gate_id === row.gate_id)
  return row.answered_at === null && answer ? { ...row, pending_answer_by: answer.body.by } : { ...row }
}

/** The error if this gate cannot be answered. */
export function validateAnswer(run: MemoryRun, gate_id: string): TroupeError | undefined {
  const gate = run.gates.find((row) => row.gate_id === gate_id)
  const open = run.gates.filter((row) => row.answered_at === null).map((row) => row.gate_id)
  if (!gate) return unknownGateError(gate_id, open)
  const earlier = run.commands.find(({ body }) => body.kind === 'answer' && body.gate_id === gate_id)
  if (earlier) return gateAnsweredError(gate_id, earlier.body.by)
  if (gate.answered_at === null) return undefined
  const event = run.events.find((event) => event.type === 'gate:answer' && event.data.gate_id === gate_id)
  return gateAnsweredError(gate_id, event?.type === 'gate:answer' ? event.data.by : 'someone')
}
