import type { StreamItem } from '../engine/engine.ts'
import type { ErrorRecord } from '../errors.ts'
import type { Status, StopReason } from '../kernel/event.ts'
import type { Limits } from '../kernel/limits.ts'
import type { GateRow } from '../store/store.ts'

export interface RunOptions {
  model?: string
  limits?: Partial<Limits>
}

export interface AnswerOptions {
  by?: string
  /** `false` only writes the answer down: the run goes on where it is under way, or when it is resumed. */
  resume?: boolean
}

export interface RunResult {
  run_id: string
  status: Status
  stop_reason: StopReason | null
  output: unknown
  error: ErrorRecord | null
  usage: { calls: number; input: number; output: number; cache_read: number; cache_write: number; usd: number | null }
  duration_ms: number
  /** Questions that the run waits for. */
  gates: GateRow[]
}

/** A run that was written down and is under way: leaving it alone does not cancel it. */
export interface RunHandle extends AsyncIterable<StreamItem> {
  readonly run_id: string
  readonly result: Promise<RunResult>
}
