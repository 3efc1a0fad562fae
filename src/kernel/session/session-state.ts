import type { ErrorRecord } from '../../errors.ts'
import type { Event, SessionCompress, SessionEnd, SessionOpen, StopReason } from '../event.ts'
import { isEvent } from '../event.ts'
import { sha256, shortHash } from '../hash.ts'
import type { Message, ToolResultPart, Usage } from '../model.ts'
import { addUsage, NO_USAGE, textFrom, toolCallsFrom, userMessage } from '../model.ts'
import type { Thread } from './thread.ts'

/*
 * A session's conversation is a fold over its events: `apply` is the only place that changes it, live and on resume.
 * 1. Messages only grow; tool results enter in call order once every call of the turn is answered.
 * 2. `bytes` bounds the tokens of what was not yet counted by a provider: a token is never shorter than a byte.
 * 3. `chain` hashes the conversation incrementally, so that noticing drift costs the same at turn 10 and at turn 2,000.
 */

export interface SessionState {
  readonly id: string
  readonly opening: SessionOpen
  messages: Message[]
  /** The first message after the last instruction. */
  responseStart: number
  /** Model calls made in all segments. */
  turns: number
  /** Instructions given in all segments. */
  instructionCount: number
  marks: string[]
  usage: Usage & { calls: number }
  /** A hash of the conversation up to `unhashed`. */
  conversationHash: string
  /** What was said since `chain` was last brought up to date. */
  unhashedText: string
  bytes: number
  /** Tokens of the conversation as a provider last counted them, and the bytes they stood for. */
  tokenCount: { tokens: number; bytes: number }
  /** Turns in a row in which the model sent arguments that do not fit. */
  invalidCallTurns: number
  toolResults: Map<string, ToolResultPart>
  invalidCalls: number
  /** Words of an answer that an abort cut short: no part of the conversation, but of what was done. */
  partialText: string
  /** In plan mode: it may look, and change nothing. */
  planMode: boolean
  /** Background sessions it started and has no result of yet. */
  backgroundSessions: Set<string>
}

export interface SessionResult {
  session_id: string
  agent: string
  status: SessionEnd['status']
  stop_reason: StopReason
  text: string
  object?: unknown
  /** Where nothing was said at all: the call that could be tried again. */
  empty_response_key?: string
  turn_count: number
  usage: Usage & { calls: number }
  error: ErrorRecord | null
}

/** How a tool result begins whose text was dropped to make room. */
export const LEFT_OUT_PREFIX = '[left out'

/** An end as those who waited for it see it. */
export function toSessionResult(session_id: string, agent: string, end: SessionEnd): SessionResult {
  const { status, stop_reason, text, object, empty_response_key, turn_count, usage, error } = end
  const result = { session_id, agent, status, stop_reason, text, turn_count, usage, error }
  return {
    ...result,
    ...(object === undefined ? undefined : { object }),
    ...(empty_response_key === undefined ? undefined : { empty_response_key }),
  }
}

const ROOT_SPAN = '0'.repeat(16)

/** `{parent16}-{child16}_{agent}`: derived from run and key, so that a repeated spawn is the same session. */
export function sessionId(run_id: string, key: string, agent: string, parent: string | null): string {
  const span = parent === null ? ROOT_SPAN : (/-([0-9a-f]{16})_/.exec(parent)?.[1] ?? shortHash(parent))
  return `${span}-${sha256(`${run_id}\n${key}`).slice(0, 16)}_${agentSlug(agent)}`
}

/** An agent's name as it stands in the ids of its sessions. */
export function agentSlug(agent: string): string {
  return agent.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-+|-+$/g, '')
}

export function newSession(id: string, opening: SessionOpen, thread?: Thread): SessionState {
  const instructions = Buffer.byteLength(opening.agent.instructions)
  const counted = thread?.tokenCount ?? { tokens: 0, bytes: 0 }
  return {
    id,
    opening,
    messages: thread ? [...thread.messages] : [],
    responseStart: 0,
    turns: 0,
    instructionCount: 0,
    marks: [],
    usage: { ...NO_USAGE, calls: 0 },
    conversationHash: thread?.hash ?? opening.thread?.hash ?? '',
    unhashedText: '',
    bytes: instructions + (thread?.bytes ?? 0),
    tokenCount: counted.tokens === 0 ? counted : { tokens: counted.tokens, bytes: counted.bytes + instructions },
    invalidCallTurns: 0,
    toolResults: new Map(),
    invalidCalls: 0,
    backgroundSessions: new Set(),
    partialText: '',
    planMode: opening.read_only === true,
  }
}

/** Adds what an event says to the conversation. */
export function applyEvent(session: SessionState, event: Event): void {
  switch (event.type) {
    case 'session:input':
      closePendingToolCalls(session)
      if (event.data.key.endsWith('/input')) {
        session.instructionCount += 1
        session.invalidCallTurns = 0
      }
      for (const id of event.data.collected ?? []) session.backgroundSessions.delete(id)
      appendMessage(session, event.data.message)
      return
    case 'session:context':
      if (event.data.message) appendMessage(session, event.data.message)
      return
    case 'session:compress':
      applyCompression(session, event.data)
      return
    case 'model:end':
      addCallUsage(session, event.data)
      if (event.data.phase) return
      session.turns += 1
      if (event.data.message.content.length > 0) appendMessage(session, event.data.message)
      if (!event.data.estimated) {
        session.tokenCount = { tokens: event.data.usage.input + event.data.usage.output, bytes: session.bytes }
      }
      return
    case 'model:lost':
      session.partialText = event.data.partial_text ?? ''
      return
    case 'model:error':
      addCallUsage(session, event.data)
      return
    case 'tool:post':
      if (event.data.plan_mode !== undefined)
        session.planMode = event.data.plan_mode || session.opening.read_only === true
      for (const id of event.data.started ?? []) session.backgroundSessions.add(id)
      for (const id of event.data.collected ?? []) session.backgroundSessions.delete(id)
      addToolResult(session, event.data.tool_call_id, event.data.tool, formatOutput(event.data.output), false)
      return
    case 'tool:error':
      for (const id of event.data.collected ?? []) session.backgroundSessions.delete(id)
      if (event.data.detail.code === 'invalid_tool_input') session.invalidCalls += 1
      addToolResult(session, event.data.tool_call_id, event.data.tool, formatError(event.data), true)
      return
    default:
  }
}

/** The conversation as it stood at the end of earlier segments. */
export function foldSession(id: string, open: SessionOpen, events: readonly Event[]): SessionState {
  const session = newSession(id, open)
  const begun = new Map<string, number>()
  const call = (event: { run_id: string; data: { key: string } }) => `${event.run_id}\n${event.data.key}`
  for (const event of events) if (isEvent(event, 'model:begin')) begun.set(call(event), event.seq)
  for (const event of events) {
    // A refusal that was asked again after a resume cost something, and was never part of what followed.
    if (isEvent(event, 'model:end') && (begun.get(call(event)) ?? 0) > event.seq) addCallUsage(session, event.data)
    else applyEvent(session, event)
  }
  closePendingToolCalls(session)
  return session
}

/** The newest words of the agent since its last instruction. */
export function lastText(session: SessionState): string {
  for (let index = session.messages.length - 1; index >= session.responseStart; index--) {
    const message = session.messages[index]
    if (message?.role !== 'assistant') continue
    const text = textFrom(message)
    if (text.trim() !== '') return text
  }
  return ''
}

/** What a model call asks, in one hash: the conversation so far and the model. Each part of it is hashed once. */
export function inputHash(session: SessionState, model: string): string {
  if (session.unhashedText !== '') session.conversationHash = shortHash(session.conversationHash + session.unhashedText)
  session.unhashedText = ''
  return shortHash(session.conversationHash + model)
}

/** An upper bound of the tokens that the conversation so far has as input. */
export function inputTokenBound(session: SessionState): number {
  return session.tokenCount.tokens + (session.bytes - session.tokenCount.bytes) + 16
}

/** Counts what a call used, without what it said. */
export function addCallUsage(session: SessionState, call: { usage: Usage; mark?: string }): void {
  session.usage = { ...addUsage(session.usage, call.usage), calls: session.usage.calls + 1 }
  if (call.mark !== undefined) session.marks.push(call.mark)
}

function appendMessage(session: SessionState, message: Message): void {
  const json = JSON.stringify(message)
  session.messages.push(message)
  session.bytes += Buffer.byteLength(json) + 8 + countLinkedImages(message) * IMAGE_TOKENS
  session.unhashedText += json
}

/** What a picture may count for that is only named by its address. */
const IMAGE_TOKENS = 6000

function countLinkedImages({ content }: Message): number {
  return content.filter((part) => part.type === 'image' && /^https?:/.test(part.data)).length
}

function addToolResult(session: SessionState, id: string, name: string, text: string, is_error: boolean): void {
  session.toolResults.set(id, { type: 'tool-result', id, name, text, is_error })
  const calls = lastToolCalls(session)
  if (calls.some((call) => !session.toolResults.has(call.id))) return
  session.invalidCallTurns = session.invalidCalls > 0 ? session.invalidCallTurns + 1 : 0
  session.invalidCalls = 0
  appendMessage(session, { role: 'tool', content: calls.flatMap((call) => session.toolResults.get(call.id) ?? []) })
  session.toolResults.clear()
}

/** Cuts old tool results, puts a summary in the place of old messages, and counts anew what is left. */
function applyCompression(session: SessionState, dropped: SessionCompress): void {
  const cut = new Set(dropped.truncated_messages)
  const messages = session.messages.map((message, index) =>
    message.role === 'tool' && cut.has(index) ? { ...message, content: message.content.map(omitResultText) } : message,
  )
  if (dropped.summary !== null) {
    const pinned = messages
      .slice(dropped.from, dropped.to)
      .filter((message) => message.role === 'user' && message.pinned)
    const summary = userMessage(`Summary of the conversation so far, as data:\n${dropped.summary}`)
    messages.splice(dropped.from, dropped.to - dropped.from, ...pinned, summary)
  }
  session.responseStart = Math.max(0, session.responseStart - (session.messages.length - messages.length))
  session.messages.splice(0, session.messages.length, ...messages)
  session.bytes = Buffer.byteLength(session.opening.agent.instructions)
  for (const message of messages) {
    session.bytes += Buffer.byteLength(JSON.stringify(message)) + 8 + countLinkedImages(message) * IMAGE_TOKENS
  }
  session.tokenCount = { tokens: 0, bytes: 0 }
  session.unhashedText += JSON.stringify(dropped)
}

function omitResultText(part: ToolResultPart): ToolResultPart {
  if (part.text.startsWith(LEFT_OUT_PREFIX)) return part
  const text = `${LEFT_OUT_PREFIX} to save room: ${part.text.length} characters; call the tool again if you need them]`
  return { ...part, text }
}

function lastToolCalls(session: SessionState) {
  const last = session.messages.at(-1)
  return last?.role === 'assistant' ? toolCallsFrom(last) : []
}

/** A segment that broke off may have left calls without an answer; providers refuse such a conversation. */
function closePendingToolCalls(session: SessionState): void {
  for (const call of lastToolCalls(session)) {
    if (session.toolResults.has(call.id)) continue
    addToolResult(session, call.id, call.name, 'No result: the work was interrupted before this call ended.', true)
  }
}

function formatOutput(output: unknown): string {
  return typeof output === 'string' ? output : (JSON.stringify(output) ?? '')
}

function formatError(failed: { error: string; detail: ErrorRecord; output?: unknown }): string {
  const { hint, alternatives } = failed.detail
  const parts = [`Error (${failed.detail.code}): ${failed.error}`]
  if (hint !== '') parts.push(hint)
  if (alternatives.length > 0 && !failed.error.includes(alternatives[0] ?? ''))
    parts.push(`Known: ${alternatives.join(', ')}`)
  if (failed.output !== undefined) parts.push(formatOutput(failed.output))
  return parts.join('\n')
}
