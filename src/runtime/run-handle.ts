import type { EngineItem } from '../engine/engine.ts'
import type { ErrorRecord, TroupeError } from '../errors.ts'
import type { Status, StopReason } from '../kernel/event.ts'
import type { Gate } from '../kernel/gate.ts'
import type { Limits } from '../kernel/limits.ts'
import type { RunContextData } from '../kernel/run-metadata.ts'
import type { ModelInput } from '../models/language-model.ts'
import type { GateRow } from '../store/store.ts'
import type { WaitingRequest } from '../views/waiting.ts'

/**
 * An item of a run's stream: a committed event, a text delta while the model writes, or, after 15 s, 60 s and then each minute, a model
 * request that the run waits for.
 */
export type StreamItem = EngineItem | { waiting: WaitingRequest }

export interface RunOptions {
  /** The model for agents that name none: a name, or a model. */
  model?: ModelInput
  limits?: Partial<Limits>
  /** Labels of the run, such as `customer:42`: `troupe.runs({ tags })` finds runs by them. */
  tags?: readonly string[]
  /**
   * JSON data for tools, hooks and patterns, such as the id of a customer. It is never sent to a model. It is stored in the
   * journal, so that a resumed run has it in any process: pass no secrets.
   */
  context?: RunContextData
  /** Aborting it cancels the run, which keeps its partial result. An aborted signal starts no run. */
  signal?: AbortSignal
}

export interface AnswerOptions {
  /** The name recorded with the answer. Default: `user`. */
  by?: string
  /** `false` only stores the answer; the run continues where it is executed, or when it is resumed. Default: `true`. */
  resume?: boolean
}

export interface SteerOptions extends AnswerOptions {
  /**
   * Whether the action may answer this open question; otherwise it is applied between two turns. Default: any question that
   * accepts the action. Use it when a person acts on the questions they have seen.
   */
  mayAnswer?: (gate: Gate) => boolean
}

export interface RunResult<Output = unknown> {
  run_id: string
  /** `partial`: the run completed with less than it was asked for, and `stop_reason` says why. Rows, events and `--json` call it `completed`. */
  status: Status | 'partial'
  stop_reason: StopReason | null
  /** `null` if the run has not ended, or ended without an output. */
  output: Output | null
  error: ErrorRecord | null
  usage: { calls: number; input: number; output: number; cache_read: number; cache_write: number; usd: number | null }
  duration_ms: number
  /** Open questions of the run. */
  gates: GateRow[]
  /** Set if the run completed without work that failed for a reason outside of it, such as a specialist whose provider was down: `resume` does it. */
  incomplete?: true
  /** Set after `answer` and `steer` in a process that lacks what the run needs: it was stored, and the run left to others. */
  not_continued?: ErrorRecord
}

/** The result that `run` resolves with: of all but failed runs. */
export type SettledRun<Output = unknown> = Omit<RunResult, 'status' | 'output' | 'stop_reason' | 'error'> &
  (
    | { status: 'completed'; stop_reason: 'completed'; output: Output; error: null }
    | { status: 'partial'; stop_reason: StopReason; output: Output; error: null }
    | { status: 'cancelled'; stop_reason: StopReason; output: Output | null; error: ErrorRecord }
    | { status: 'waiting'; stop_reason: null; output: null; error: null }
  )

/** The error that `run` rejects with when the run failed. */
export interface RunError extends TroupeError {
  readonly run_id: string
  readonly result: RunResult
}

/** A stored run. Dropping the handle does not cancel the run. */
export interface RunHandle<Output = unknown> extends AsyncIterable<StreamItem> {
  readonly run_id: string
  readonly result: Promise<RunResult<Output>>
  /** The question that `steer` answered, if any. */
  readonly answered_gate?: string
  /** Cancels the run and every session in it; resolves with its partial result. */
  cancel(reason?: string): Promise<RunResult<Output>>
}
