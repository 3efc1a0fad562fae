import type { ToolPre } from '../../kernel/event.ts'
import type { ToolProgress } from '../../kernel/tool.ts'
import { definedFields } from '../../schema/json-value.ts'
import type { ToolCallScope } from './tool-call-scope.ts'

/** The first report is recorded at once, later ones ever less often: an hour of work is about 60 events. */
const MIN_INTERVAL_MS = 2000
const SHARE_OF_ELAPSED = 1 / 8
const MAX_MESSAGE_CHARS = 200

/** Records the progress of a call as `tool:progress`, from time to time, for those who watch the run. */
export class ProgressRecorder {
  readonly #scope: ToolCallScope
  readonly #pre: ToolPre
  readonly #startedAt: number
  #recordedAt = Number.NEGATIVE_INFINITY
  #hasEnded = false

  constructor(scope: ToolCallScope, pre: ToolPre) {
    this.#scope = scope
    this.#pre = pre
    this.#startedAt = scope.execution.ports.world.now()
  }

  record({ progress, total, message }: ToolProgress): void {
    const { execution, session, key } = this.#scope
    const now = execution.ports.world.now()
    const interval = Math.max(MIN_INTERVAL_MS, (now - this.#startedAt) * SHARE_OF_ELAPSED)
    if (this.#hasEnded || now - this.#recordedAt < interval) return
    this.#recordedAt = now
    const { tool, tool_call_id } = this.#pre
    const text = message === undefined ? undefined : this.#redact(message.slice(0, MAX_MESSAGE_CHARS).toWellFormed())
    const data = { key, tool, tool_call_id, ...definedFields({ progress, total, message: text }) }
    execution.journal.append('tool:progress', data, session.id)
  }

  /** Nothing is recorded after the result. */
  end(): void {
    this.#hasEnded = true
  }

  /** A redactor that fails must not let the text pass unseen. */
  #redact(message: string): string | undefined {
    try {
      return this.#scope.execution.ports.redactor?.redact(message, 'message') ?? message
    } catch {
      return undefined
    }
  }
}
