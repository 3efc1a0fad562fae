import { toTroupeError } from '../../../errors.ts'
import type { Limits, RunHandle, RunResult, RunRow, StreamItem, Troupe } from '../../../index.ts'
import type { VariableValue } from '../../../judgement/condition/condition-tree.ts'
import type { Team } from '../../../judgement/team/team-schema.ts'
import type { Event } from '../../../kernel/event.ts'
import type { Delta } from '../../../kernel/ports.ts'
import type { SteerAction } from '../../../kernel/steer-action.ts'
import type { ChatEvent, OpenQuestion } from '../../../views/chat-event.ts'
import type { Transcript } from '../../../views/transcript.ts'
import { newTranscript, reduceTranscript } from '../../../views/transcript.ts'

/*
 * Talking with a team: one run after the other.
 * 1. Every event is told once, however often the run parks and goes on.
 * 2. A question that was answered is not open any more, even before the run has taken the answer.
 * 3. A conversation goes on after its run has ended: the next run is given what was said.
 * 4. What other processes do with the run is known before a line is taken.
 */

export interface ConversationContext {
  /** Whom runs that are started from here are of. */
  team: Team
  /** Values for variables of the team, for runs that are started from here. */
  variables: Record<string, VariableValue>
  model: string | undefined
  /** Limits that were asked for. */
  limits: Partial<Limits>
  /** Those of the run that was taken up, for what nobody asked for. */
  inherited?: Limits
  onEvent(chatEvent: ChatEvent): void
  onDelta(delta: Delta): void
  /** Something happened, whether it is told or not: who is at work may have changed. */
  onActivity(): void
  /** The run stands still: it waits, has ended, or could not go on. */
  onIdle(): void
}

/** How much of an earlier run the next one is given. */
const MESSAGES_CARRIED = 20

export class Conversation {
  troupe: Troupe
  readonly context: ConversationContext
  transcript: Transcript = newTranscript()
  run_id: string | undefined
  /** How the run stood when it last came to rest. */
  result: RunResult | undefined
  /** Another process works on the run, as far as was last seen. */
  inOtherProcess = false
  readonly #answered = new Set<string>()
  #told = 0
  #followers = 0
  #following: Promise<void> = Promise.resolve()
  #before: Transcript['messages'] = []
  #catching: Promise<void> | undefined

  constructor(troupe: Troupe, context: ConversationContext) {
    this.troupe = troupe
    this.context = context
  }

  /** Agents are at work. */
  get isBusy(): boolean {
    return this.#followers > 0
  }

  /** What the run waits for, the oldest first. */
  get questions(): OpenQuestion[] {
    // One that is cancelled leaves its questions open in the journal.
    if (!this.isOpen) return []
    return [...this.transcript.questions.values()].filter(({ gate_id }) => !this.#answered.has(gate_id))
  }

  /** Whether the run can be spoken to; if not, the next message starts another. */
  get isOpen(): boolean {
    const status = this.result?.status
    return this.run_id !== undefined && status !== 'completed' && status !== 'cancelled' && status !== 'failed'
  }

  /** What a line would be taken for; when that changes, one that was typed before may mean something else. */
  get inputState(): string {
    return `${this.run_id} ${this.isOpen} ${this.questions[0]?.gate_id}`
  }

  /** Resolves when nobody works any more. */
  async whenIdle(): Promise<void> {
    while (this.isBusy) await this.#following
  }

  async start(message: string): Promise<void> {
    const { team, variables, model, inherited } = this.context
    const limits = { ...inherited, ...this.context.limits }
    if (this.run_id !== undefined) this.#turnOver()
    const before = this.#before.slice(-MESSAGES_CARRIED)
    const input = { team, message, variables, ...(before.length > 0 ? { before } : undefined) }
    const handle = await this.troupe.stream('team', input, { limits, ...(model ? { model } : undefined) })
    this.run_id = handle.run_id
    this.#follow(handle)
  }

  /** Forgets what was said; the run is left as it is. */
  clear(): void {
    this.#turnOver()
    this.#before = []
  }

  #turnOver(): void {
    this.#before = this.transcript.messages
    this.transcript = newTranscript()
    this.run_id = undefined
    this.result = undefined
    this.inOtherProcess = false
    this.#told = 0
  }

  async answer(gate_id: string, answer: unknown): Promise<void> {
    const handle = await this.troupe.answer(gate_id, answer)
    this.#answered.add(gate_id)
    this.#follow(handle)
  }

  /** Asks something of the team; true when that is what it waited for. */
  async steer(action: SteerAction): Promise<boolean> {
    if (this.run_id === undefined) return false
    const handle = await this.troupe.steer(this.run_id, action)
    const waited = this.questions.find(({ takes }) => takes?.includes(action.do))
    if (waited) this.#answered.add(waited.gate_id)
    this.#follow(handle)
    return waited !== undefined
  }

  /** Ends the team: as its user where it waits for one, else whatever it does. */
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
   * Takes up a run: what happened before is known, and not told again. Returns what is left to be told of it. One that broke
   * off goes on; one that failed is only tried again when that is asked for, because it may be paid for once more.
   */
  async attach(row: RunRow, again = false): Promise<ChatEvent[]> {
    this.run_id = row.run_id
    const past = await this.troupe.events(row.run_id)
    const told = past.flatMap((event) => reduceTranscript(this.transcript, event))
    this.#told = past.at(-1)?.seq ?? 0
    const raised = row.status === 'waiting' && Object.keys(this.context.limits).length > 0
    if (row.status === 'pending' || row.status === 'running' || raised || (again && row.status === 'failed')) {
      await this.retry()
      if (raised) await this.whenIdle()
    } else this.result = await this.troupe.result(row.run_id)
    inheritOptions(this.context, past)
    return row.status === 'failed' ? [...told, ...this.#ending()] : told
  }

  /** Goes on with a run that broke off or failed; what failed is tried again. */
  async retry(): Promise<void> {
    if (this.run_id === undefined) return
    const handle = await this.troupe.resume(this.run_id, { limits: this.context.limits })
    this.result = undefined
    this.#follow(handle)
  }

  /** Takes in what other processes have done with the run while nobody was at work here. */
  catchUp(): Promise<void> {
    // Two at once would tell the end twice.
    this.#catching ??= this.#catchUp().finally(() => {
      this.#catching = undefined
    })
    return this.#catching
  }

  async #catchUp(): Promise<void> {
    const { run_id, troupe } = this
    const moot = () => this.run_id !== run_id || this.isBusy
    if (run_id === undefined || this.isBusy) return
    const row = await troupe.store.run(run_id)
    if (!row || moot()) return
    const elsewhere = troupe.isRunning(row)
    if (row.head <= this.#told && elsewhere === this.inOtherProcess) return
    const events = await troupe.store.events(run_id, { after: this.#told })
    const result = await troupe.result(run_id)
    if (moot()) return
    this.inOtherProcess = elsewhere
    this.result = result
    for (const event of events) this.#take({ event })
    if (!elsewhere) this.#rested()
  }

  #follow(handle: RunHandle): void {
    this.#followers += 1
    const earlier = this.#following
    this.#following = this.#listen(handle, earlier)
  }

  async #listen(handle: RunHandle, earlier: Promise<void>): Promise<void> {
    // Two listeners at once would tell the words of an answer twice.
    handle.result.catch(() => {})
    await earlier
    try {
      for await (const signal of handle) this.#take(signal)
      this.result = await handle.result
    } catch (thrown) {
      const { message } = toTroupeError(thrown)
      this.context.onEvent({ type: 'warning', agent: '', message })
    }
    this.#followers -= 1
    if (this.#followers === 0) this.#rested()
  }

  #take(signal: StreamItem): void {
    if ('delta' in signal) {
      this.context.onDelta(signal.delta)
      return
    }
    const { event } = signal
    if (event.seq <= this.#told) return
    this.#told = event.seq
    for (const chatEvent of reduceTranscript(this.transcript, event)) this.context.onEvent(chatEvent)
    this.context.onActivity()
  }

  #rested(): void {
    for (const chatEvent of this.#ending()) this.context.onEvent(chatEvent)
    this.context.onIdle()
  }

  #ending(): ChatEvent[] {
    const { result, transcript } = this
    if (!result || !['completed', 'failed', 'cancelled'].includes(result.status)) return []
    const { run_id, status, error } = result
    return [{ type: 'end', run_id, status, route: transcript.run.team.route, error }]
  }
}

/** What the next run is not told otherwise is as it was in the one before. */
function inheritOptions(context: ConversationContext, past: readonly Event[]): void {
  for (const { type, data } of past) {
    if (type === 'run:start') context.model ??= data.model
    if (type === 'run:start' || type === 'run:reopen') context.inherited = data.limits
  }
}
