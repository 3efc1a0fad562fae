import { toTroupeError } from '../../../errors.ts'
import type {
  Attachment,
  Event,
  Limits,
  RunHandle,
  RunResult,
  RunRow,
  SteerAction,
  StreamItem,
  Troupe,
} from '../../../index.ts'
import type { VariableValue } from '../../../judgement/condition/condition-tree.ts'
import type { Team } from '../../../judgement/team/team-schema.ts'
import type { ChatEvent, OpenQuestion } from '../../../patterns/team/chat-event.ts'
import type { Transcript } from '../../../patterns/team/transcript.ts'
import { messagesToCarry, newTranscript, reduceTranscript } from '../../../patterns/team/transcript.ts'
import { recordedStatus } from '../../../views/result-status.ts'
import { isReplyGate } from '../render/result-lines.ts'
import { TEAM_PATTERN } from '../team-pattern.ts'

type Delta = Extract<StreamItem, { delta: unknown }>['delta']

/*
 * A conversation with a team: a sequence of runs.
 * 1. Every event is reported once, however often the run waits and resumes.
 * 2. An answered question is closed at once, before the run has processed the answer.
 * 3. After a run has ended, the next message starts another run with the previous messages as context.
 * 4. Events of other processes are read before a line is handled.
 */

export interface ConversationContext {
  /** Team, variables, model and limits of runs started from here. Model and limits of a resumed run hold where none are given. */
  team: Team
  variables: Record<string, VariableValue>
  model: string | undefined
  limits: Partial<Limits>
  onEvent(chatEvent: ChatEvent): void
  onDelta(delta: Delta): void
  /** Any event, including those without a chat event: the active agents may have changed. */
  onActivity(): void
  /** The run waits, has ended, or could not continue. */
  onIdle(): void
}

export class Conversation {
  troupe: Troupe
  readonly context: ConversationContext
  transcript: Transcript = newTranscript()
  run_id: string | undefined
  /** Result when the run last became idle. */
  result: RunResult | undefined
  /** Whether another process was running it when last looked at. */
  inOtherProcess = false
  readonly #answered = new Set<string>()
  #lastSeq = 0
  #followers = 0
  #following: Promise<void> = Promise.resolve()
  #earlierMessages: Transcript['messages'] = []
  #pendingCatchUp: Promise<void> | undefined
  #resumed: ResumedRun | undefined

  constructor(troupe: Troupe, context: ConversationContext) {
    this.troupe = troupe
    this.context = context
  }

  /** Whether agents are running in this process. */
  get isBusy(): boolean {
    return this.#followers > 0
  }

  /** Open questions, oldest first. */
  get questions(): OpenQuestion[] {
    // A cancelled run leaves its gates open in the journal.
    if (!this.isOpen) return []
    return [...this.transcript.questions.values()].filter(({ gate_id }) => !this.#answered.has(gate_id))
  }

  /** Whether the run accepts messages; otherwise the next message starts another run. */
  get isOpen(): boolean {
    const status = this.result?.status
    const ended = ['completed', 'partial', 'cancelled', 'failed'] as const
    return this.run_id !== undefined && !ended.some((each) => each === status)
  }

  /** Changes when another process ends the run: a line typed before must not start another one. */
  get runState(): string {
    return `${this.run_id} ${this.isOpen}`
  }

  /** Whether this chat has answered the question. */
  hasAnswered({ gate_id }: OpenQuestion): boolean {
    return this.#answered.has(gate_id)
  }

  /** Resolves when no agent is running. */
  async whenIdle(): Promise<void> {
    while (this.isBusy) await this.#following
  }

  async start(message: string, files: { attachments?: Attachment[] } = {}): Promise<void> {
    const { team, variables, ...options } = this.#nextRun()
    if (this.run_id !== undefined) this.#resetRun()
    const before = messagesToCarry(this.#earlierMessages, files.attachments ?? [])
    const input = { team, message, ...files, variables, ...(before.length > 0 ? { before } : undefined) }
    const handle = await this.troupe.stream(TEAM_PATTERN, input, options)
    this.run_id = handle.run_id
    this.#follow(handle)
  }

  /** Options of the next run. */
  #nextRun() {
    const { team, variables, model, limits } = this.context
    const chosen = model ?? this.#resumed?.model
    return {
      team,
      variables,
      limits: { ...this.#resumed?.limits, ...limits },
      ...(chosen ? { model: chosen } : undefined),
    }
  }

  /** Starts over without earlier messages; the run is kept. */
  clear(): void {
    this.#resetRun()
    this.#earlierMessages = []
  }

  #resetRun(): void {
    this.#earlierMessages = this.transcript.messages
    this.transcript = newTranscript()
    this.run_id = undefined
    this.result = undefined
    this.inOtherProcess = false
    this.#lastSeq = 0
  }

  async answer(gate_id: string, answer: unknown): Promise<void> {
    const handle = await this.troupe.answer(gate_id, answer)
    this.#answered.add(gate_id)
    this.#follow(handle)
  }

  /**
   * Sends a steer action; true when it answered a question. It answers only a question of `shown`, or the team's wait for a
   * reply: a newer question could be about something else.
   */
  async steer(action: SteerAction, shown: readonly OpenQuestion[] = this.questions): Promise<boolean> {
    if (this.run_id === undefined) return false
    const mayAnswer = (gate: { gate_id: string; detail?: unknown }) =>
      isReplyGate(gate) || shown.some(({ gate_id }) => gate_id === gate.gate_id)
    const handle = await this.troupe.steer(this.run_id, action, { mayAnswer })
    const { answered_gate } = handle
    if (answered_gate !== undefined) this.#answered.add(answered_gate)
    this.#follow(handle)
    return answered_gate !== undefined
  }

  /** Ends the team: answers an open reply gate with `stop`, otherwise cancels the run. */
  async end(): Promise<void> {
    if (this.run_id === undefined) return
    const reply = this.questions.find(({ kind }) => kind === 'reply')
    if (reply) {
      await this.answer(reply.gate_id, { do: 'stop' })
      return
    }
    await this.troupe.cancel(this.run_id, 'ended in the conversation')
    await this.catchUp()
  }

  /**
   * Attaches to an existing run and returns its past chat events without reporting them. An interrupted run resumes; a
   * failed run is retried only on request, because a retry may cost money.
   */
  async attach(row: RunRow, retryFailed = false): Promise<ChatEvent[]> {
    this.run_id = row.run_id
    const past = await this.troupe.events(row.run_id).all()
    const pastChatEvents = past.flatMap((event) => reduceTranscript(this.transcript, event))
    this.#lastSeq = past.at(-1)?.seq ?? 0
    const hasNewLimits = row.status === 'waiting' && Object.keys(this.context.limits).length > 0
    if (
      row.status === 'pending' ||
      row.status === 'running' ||
      hasNewLimits ||
      (retryFailed && row.status === 'failed')
    ) {
      await this.retry()
      if (hasNewLimits) await this.whenIdle()
    } else this.result = await this.troupe.result(row.run_id)
    this.#resumed = recordedOptions(past)
    return row.status === 'failed' ? [...pastChatEvents, ...this.#endEvents()] : pastChatEvents
  }

  /** Resumes an interrupted or failed run. */
  async retry(): Promise<void> {
    if (this.run_id === undefined) return
    const handle = await this.troupe.resume(this.run_id, { limits: this.context.limits })
    this.result = undefined
    this.#follow(handle)
  }

  /** Reads events that other processes appended while no agent was running here. */
  catchUp(): Promise<void> {
    // Concurrent calls would report the end twice.
    this.#pendingCatchUp ??= this.#catchUp().finally(() => {
      this.#pendingCatchUp = undefined
    })
    return this.#pendingCatchUp
  }

  async #catchUp(): Promise<void> {
    const { run_id, troupe } = this
    const isObsolete = () => this.run_id !== run_id || this.isBusy
    if (run_id === undefined || this.isBusy) return
    const row = await troupe.getRun(run_id)
    if (isObsolete()) return
    // A parked run may hold its lease for another moment: a line typed now is an answer, not a message to an agent.
    const isRunningElsewhere = row.status === 'running' && troupe.isRunning(row)
    if (row.head <= this.#lastSeq && isRunningElsewhere === this.inOtherProcess) return
    const events = await troupe.events(run_id, { after: this.#lastSeq }).all()
    const result = await troupe.result(run_id)
    if (isObsolete()) return
    this.inOtherProcess = isRunningElsewhere
    this.result = result
    for (const event of events) this.#handleItem({ event })
    if (!isRunningElsewhere) this.#becomeIdle()
  }

  #follow(handle: RunHandle): void {
    this.#followers += 1
    const earlier = this.#following
    this.#following = this.#listen(handle, earlier)
  }

  async #listen(handle: RunHandle, earlier: Promise<void>): Promise<void> {
    // Two listeners at once would report streamed text twice.
    handle.result.catch(() => {})
    await earlier
    try {
      for await (const item of handle) this.#handleItem(item)
      this.result = await handle.result
      const { not_continued } = this.result
      if (not_continued) {
        const message = `stored, but ${not_continued.message}; continue with /retry when it is there`
        this.context.onEvent({ type: 'warning', agent: '', message })
      }
    } catch (thrown) {
      const { message } = toTroupeError(thrown)
      this.context.onEvent({ type: 'warning', agent: '', message })
    }
    this.#followers -= 1
    if (this.#followers === 0) this.#becomeIdle()
  }

  #handleItem(item: StreamItem): void {
    if ('delta' in item) {
      this.context.onDelta(item.delta)
      return
    }
    if ('waiting' in item) return
    const { event } = item
    if (event.seq <= this.#lastSeq) return
    this.#lastSeq = event.seq
    for (const chatEvent of reduceTranscript(this.transcript, event)) this.context.onEvent(chatEvent)
    this.context.onActivity()
  }

  #becomeIdle(): void {
    for (const chatEvent of this.#endEvents()) this.context.onEvent(chatEvent)
    this.context.onIdle()
  }

  #endEvents(): ChatEvent[] {
    const { result, transcript } = this
    if (!result || !['completed', 'partial', 'failed', 'cancelled'].includes(result.status)) return []
    const { run_id, status, error } = result
    return [{ type: 'end', run_id, status: recordedStatus(status), route: transcript.team.route, error }]
  }
}

/** What a resumed run recorded. */
interface ResumedRun {
  model?: string
  limits?: Limits
}

function recordedOptions(past: readonly Event[]): ResumedRun {
  const options: ResumedRun = {}
  for (const { type, data } of past) {
    if (type === 'run:start' && data.model !== undefined) options.model = data.model
    if (type === 'run:start' || type === 'run:reopen') options.limits = data.limits
  }
  return options
}
