import { TroupeError } from '../../errors.ts'
import type { Event, ToolPre } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { AssistantMessage, Usage } from '../../kernel/model.ts'
import { NO_USAGE } from '../../kernel/model.ts'
import { applyEvent, lastText } from '../../kernel/session/session-state.ts'
import type { PerformerResult, PerformerUpdate, PerformerUsage } from '../performer.ts'
import { recordToolResult } from '../tool-call/tool-result.ts'
import type { PerformerScope } from './performer-scope.ts'

/*
 * Writes what a performer reports into the journal, under the key of its turn.
 * 1. Text is streamed to watchers at once and recorded as one message when a tool call, a usage report or the end follows.
 * 2. Usage has no reservation: `model:begin` reserves nothing and is followed by its `model:end` at once.
 * 3. After a restart the ordinals continue, and the conversation and the usage are folded from the recorded events.
 */

type EntryKind = 'message' | 'model' | 'tool' | 'plan' | 'session'

const NO_RESERVATION = Object.freeze({ calls: 0, tokens: 0, usd: 0 })

export class PerformerRecorder {
  readonly #scope: PerformerScope
  readonly #key: string
  readonly #counts: Record<EntryKind, number> = { message: 0, model: 0, tool: 0, plan: 0, session: 0 }
  readonly #openTools = new Map<string, ToolPre>()
  readonly #settledCalls = new Set<number>()
  #content: AssistantMessage['content'] = []
  #offset = 0
  #isClosed = false

  constructor(scope: PerformerScope, key: string) {
    this.#scope = scope
    this.#key = key
  }

  /** The key of the turn's step. */
  get stepKey(): string {
    return this.#key
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Applies what earlier executions recorded of this turn. */
  restore(): void {
    const { execution, session } = this.#scope
    for (const event of execution.journalIndex.eventsUnder(this.#key)) {
      const [kind = '', ordinal = '', nested] = (event.data as { key: string }).key
        .slice(this.#key.length + 1)
        .split('/')
      if (kind in this.#counts) this.#counts[kind as EntryKind] = Number(ordinal) + 1
      if (kind === 'call' && nested === undefined) this.#settledCalls.add(Number(ordinal))
      if (isEvent(event, 'tool:pre')) {
        // Claimed for invariant 4 of an execution: the performer has made this call, no code here will.
        execution.claim(event.data.key)
        this.#openTools.set(event.data.tool_call_id, event.data)
      }
      if (isEvent(event, 'tool:post') || isEvent(event, 'tool:error')) this.#openTools.delete(event.data.tool_call_id)
      applyEvent(session, event)
    }
  }

  record(update: PerformerUpdate): void {
    if (this.#isClosed) return
    switch (update.type) {
      case 'text':
      case 'reasoning':
        this.#addText(update.type, update.text)
        break
      case 'message-end':
        this.#endMessage()
        break
      case 'tool-start':
        this.#startTool(update)
        break
      case 'tool-end':
        this.#endTool(update)
        break
      case 'plan':
        this.#append('performer:plan', { key: this.#nextKey('plan'), entries: [...update.entries] })
        break
      case 'usage':
        this.#recordUsage(update)
        break
      default:
        throw invalidUpdateError(`unknown \`type\`: ${JSON.stringify(update)}`)
    }
  }

  recordSession(id: string): void {
    if (!this.#isClosed) this.#append('performer:session', { key: this.#nextKey('session'), id })
  }

  /** The key of the next permission request. An answer that was not delivered before a restart is found under it. */
  nextCallKey(): string {
    let ordinal = 0
    while (this.#settledCalls.has(ordinal)) ordinal += 1
    this.#settledCalls.add(ordinal)
    return `${this.#key}/call/${ordinal}`
  }

  /** All tool calls of the turn share a group. */
  get group(): string {
    return this.#scope.execution.callGroup(this.#key)
  }

  /** Records the outcome of the turn. */
  end(outcome: PerformerResult | TroupeError): Event {
    const { execution, session } = this.#scope
    this.#endMessage()
    // The final text is part of the conversation, even when it was not streamed.
    const finalText = outcome instanceof TroupeError ? undefined : outcome.text
    if (finalText !== undefined && finalText !== lastText(session)) this.#addText('text', finalText)
    this.close()
    this.closeOpenTools('the turn ended before this call did')
    const facts = { key: this.#key, v: 1, input_hash: null }
    if (outcome instanceof TroupeError) {
      outcome.step = this.#key
      return execution.journal.append('step:error', { ...facts, error: outcome.toJSON() }, session.id)
    }
    const result = { stop: outcome.stop, text: outcome.text ?? lastText(session) }
    return execution.journal.append('step:end', { ...facts, result }, session.id)
  }

  /** Records the text so far; later updates are ignored. */
  close(): void {
    if (!this.#isClosed) this.#endMessage()
    this.#isClosed = true
  }

  /** Drops the text so far: this process no longer owns the run. */
  discard(): void {
    this.#isClosed = true
  }

  closeOpenTools(reason: string): void {
    for (const pre of this.#openTools.values()) {
      const hint = 'it may or may not have taken effect: check before you call the tool again'
      const detail = new TroupeError('outcome_unknown', `the tool ${pre.tool}: ${reason}`, { hint }).toJSON()
      this.#recordToolEnd(pre, { success: false, error: detail.message, detail })
    }
    this.#openTools.clear()
  }

  #addText(type: 'text' | 'reasoning', text: string): void {
    if (typeof text !== 'string') throw invalidUpdateError(`\`text\` is not a string: ${JSON.stringify(text)}`)
    const { execution, session } = this.#scope
    const last = this.#content.at(-1)
    if (last?.type === type) last.text += text
    else this.#content.push({ type, text })
    const position = { key: this.#keyOf('message'), attempt: 1, offset: this.#offset }
    execution.ports.publish({
      run_id: execution.run.id,
      session_id: session.id,
      agent: session.opening.agent.name,
      ...position,
      type,
      text,
    })
    this.#offset += text.length
  }

  #endMessage(): void {
    const content = this.#content
    if (content.length === 0) return
    this.#content = []
    this.#offset = 0
    this.#append('performer:message', { key: this.#nextKey('message'), message: { role: 'assistant', content } })
  }

  #startTool({ id, tool, input, kind = 'act' }: Extract<PerformerUpdate, { type: 'tool-start' }>): void {
    this.#endMessage()
    if (this.#openTools.has(id)) return
    const key = this.#nextKey('tool')
    const pre: ToolPre = {
      key,
      tool,
      tool_call_id: id,
      parallel_group_id: this.group,
      kind,
      category: kind === 'read' ? 'perception' : 'action',
      input: input ?? null,
      idempotency_key: this.#scope.execution.idempotencyKey(key),
    }
    this.#openTools.set(id, pre)
    this.#append('tool:pre', pre)
  }

  #endTool({ id, output, error }: Extract<PerformerUpdate, { type: 'tool-end' }>): void {
    const pre = this.#openTools.get(id)
    if (!pre) return
    this.#openTools.delete(id)
    this.#recordToolEnd(pre, error === undefined ? { success: true, output } : { success: false, error, output })
  }

  #recordToolEnd(pre: ToolPre, result: Parameters<typeof recordToolResult>[2]): void {
    recordToolResult({ ...this.#scope, key: pre.key, group: pre.parallel_group_id }, pre, result)
  }

  #recordUsage({ usage, model = this.#scope.name, usd }: PerformerUsage): void {
    this.#endMessage()
    checkUsage(usage, usd)
    const { execution } = this.#scope
    const { prices, world } = execution.ports
    const key = this.#nextKey('model')
    this.#append('model:begin', { key, attempt: 1, model, reserved: NO_RESERVATION, input_hash: '' })
    const end = this.#append('model:end', {
      key,
      attempt: 1,
      message: { role: 'assistant', content: [] },
      stop: 'end',
      usage: { ...NO_USAGE, ...usage },
      usd: usd ?? prices.cost(model, usage, world.now()) ?? null,
    })
    execution.budget.recordEvent(end)
  }

  #append(...[type, data]: Parameters<PerformerScope['execution']['journal']['append']>): Event {
    const { execution, session } = this.#scope
    const event = execution.journal.append(type, data, session.id)
    applyEvent(session, event)
    return event
  }

  #nextKey(kind: EntryKind): string {
    const key = this.#keyOf(kind)
    this.#counts[kind] += 1
    return key
  }

  #keyOf(kind: EntryKind): string {
    return `${this.#key}/${kind}/${this.#counts[kind]}`
  }
}

function invalidUpdateError(problem: string): TroupeError {
  return new TroupeError('performer_failed', `the performer reported an invalid update: ${problem}`, {
    hint: 'report only the updates that `PerformerUpdate` defines',
  })
}

/** An invalid number would make every later sum of the budget invalid. */
function checkUsage(usage: Usage, usd: number | undefined): void {
  const numbers = [...Object.values({ ...NO_USAGE, ...usage }), usd ?? 0]
  if (numbers.every((value) => Number.isFinite(value) && value >= 0)) return
  throw invalidUpdateError(`\`usage\` has negative or infinite numbers: ${JSON.stringify({ usage, usd })}`)
}
