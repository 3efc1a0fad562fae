import type { ErrorRecord } from '../../errors.ts'
import { messageTokenBound } from '../attachment.ts'
import type { Event, SessionCompress, SessionOpen } from '../event.ts'
import { sha256, shortHash } from '../hash.ts'
import type { Message, ToolResultPart, Usage } from '../model.ts'
import { addUsage, NO_USAGE, textFrom, toolCallsFrom, userMessage } from '../model.ts'
import { escapeTemplateMarksInCode } from '../template-marks.ts'
import type { Thread } from '../thread.ts'
import { systemPromptBytes } from './system-prompt.ts'

/*
 * A session's conversation is a fold over its events: only `applyEvent` changes it, live and on resume.
 * 1. Tool results enter in call order, once every call of the turn has one.
 * 2. `bytes` bounds the tokens that no provider has counted yet: a token is at least one byte.
 * 3. `conversationHash` is a hash chain over the messages, so detecting drift costs the same at turn 10 and at turn 2,000,
 *    and does not depend on when it was computed.
 */

/** What the model is sent, its hash and its size. */
interface Conversation {
  messages: Message[]
  /** Index of the first message after the last instruction. */
  responseStart: number
  marks: string[]
  /** Hash chain over the conversation without `unhashed`. */
  conversationHash: string
  /** The newest messages and compactions, as JSON. */
  unhashed: string[]
  bytes: number
  /** The provider's last token count, and the `bytes` it covers. */
  tokenCount: { tokens: number; bytes: number }
}

export interface SessionState extends Conversation {
  readonly id: string
  readonly opening: SessionOpen
  /** Model requests in all segments. */
  turns: number
  /** Instructions in all segments. */
  instructionCount: number
  usage: Usage & { calls: number }
  /** Consecutive turns with invalid tool arguments. */
  invalidCallTurns: number
  toolResults: Map<string, ToolResultPart>
  invalidCalls: number
  /** Text of a response that an abort cut off; part of the result, not of the conversation. */
  partialText: string
  /** The performer's own session, as last recorded. */
  performerSession: string | undefined
  planMode: boolean
  /** Background sessions whose results are not collected yet. */
  backgroundSessions: Set<string>
}

/** Start of the text that replaces a tool result which context compaction omitted. */
export const OMITTED_PREFIX = '[omitted'

/** The token count of a conversation that no provider has counted. */
export const UNCOUNTED: SessionState['tokenCount'] = Object.freeze({ tokens: 0, bytes: 0 })

const ROOT_SPAN = '0'.repeat(16)

interface SessionIdParts {
  run_id: string
  key: string
  agent: string
  /** The parent's session id; `null` for a root session. */
  parent: string | null
}

/** `{parent16}-{child16}_{agent}`, derived from run and key: opening the same session again gives the same id. */
export function sessionId({ run_id, key, agent, parent }: SessionIdParts): string {
  const span = parent === null ? ROOT_SPAN : (/-([0-9a-f]{16})_/.exec(parent)?.[1] ?? shortHash(parent))
  return `${span}-${sha256(`${run_id}\n${key}`).slice(0, 16)}_${agentSlug(agent)}`
}

/** An agent's name as it appears in session ids. */
export function agentSlug(agent: string): string {
  return agent.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-+|-+$/g, '')
}

export function newSession(id: string, opening: SessionOpen, thread?: Thread): SessionState {
  const instructions = systemPromptBytes(opening)
  const threadCount = thread?.tokenCount ?? UNCOUNTED
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
    unhashed: [],
    bytes: instructions + (thread?.bytes ?? 0),
    tokenCount: threadCount.tokens === 0 ? threadCount : { ...threadCount, bytes: threadCount.bytes + instructions },
    invalidCallTurns: 0,
    toolResults: new Map(),
    invalidCalls: 0,
    backgroundSessions: new Set(),
    partialText: '',
    performerSession: undefined,
    planMode: opening.read_only === true,
  }
}

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
    case 'performer:session':
      session.performerSession = event.data.id
      return
    case 'performer:message':
      appendMessage(session, event.data.message)
      return
    case 'tool:post':
      if (event.data.plan_mode !== undefined)
        session.planMode = event.data.plan_mode || session.opening.read_only === true
      for (const id of event.data.started ?? []) session.backgroundSessions.add(id)
      for (const id of event.data.collected ?? []) session.backgroundSessions.delete(id)
      addToolResult(session, {
        id: event.data.tool_call_id,
        name: event.data.tool,
        text: formatOutput(event.data.output),
        is_error: false,
        ...(event.data.attachments
          ? { files: event.data.attachments.map((file) => ({ type: 'file' as const, ...file })) }
          : undefined),
      })
      return
    case 'tool:error':
      for (const id of event.data.collected ?? []) session.backgroundSessions.delete(id)
      if (event.data.detail.code === 'invalid_tool_input') session.invalidCalls += 1
      addToolResult(session, {
        id: event.data.tool_call_id,
        name: event.data.tool,
        text: formatError(event.data),
        is_error: true,
      })
      return
    default:
  }
}

/** The agent's last text since its last instruction. */
export function lastText(session: SessionState): string {
  for (let index = session.messages.length - 1; index >= session.responseStart; index--) {
    const message = session.messages[index]
    if (message?.role !== 'assistant') continue
    const text = textFrom(message)
    if (text.trim() !== '') return text
  }
  return ''
}

/** Hash of the conversation and the model: the input of the next model request. */
export function inputHash(session: SessionState, model: string): string {
  hashConversation(session)
  return shortHash(session.conversationHash + model)
}

/** Extends the hash chain by everything that is not in it yet. */
export function hashConversation(session: SessionState): void {
  for (const json of session.unhashed) session.conversationHash = shortHash(session.conversationHash + json)
  session.unhashed.length = 0
}

/** Upper bound of the conversation's input tokens. */
export function inputTokenBound(session: SessionState): number {
  return session.tokenCount.tokens + (session.bytes - session.tokenCount.bytes) + 16
}

export function addCallUsage(session: SessionState, call: { usage: Usage; mark?: string }): void {
  session.usage = { ...addUsage(session.usage, call.usage), calls: session.usage.calls + 1 }
  if (call.mark !== undefined) session.marks.push(call.mark)
}

function appendMessage(session: SessionState, message: Message): void {
  const json = JSON.stringify(message)
  session.messages.push(message)
  session.bytes += messageTokenBound(message, json)
  session.unhashed.push(json)
}

function addToolResult(session: SessionState, result: Omit<ToolResultPart, 'type'>): void {
  const calls = lastToolCalls(session)
  // A performer's own calls are in its own conversation. The opening cannot tell: a fold has none.
  if (!calls.some((call) => call.id === result.id)) return
  // Prevents prompt injection: a file or page must not begin a message of the system.
  const text = escapeTemplateMarksInCode(result.text)
  session.toolResults.set(result.id, { type: 'tool-result', ...result, text })
  if (calls.some((call) => !session.toolResults.has(call.id))) return
  session.invalidCallTurns = session.invalidCalls > 0 ? session.invalidCallTurns + 1 : 0
  session.invalidCalls = 0
  appendMessage(session, { role: 'tool', content: calls.flatMap((call) => session.toolResults.get(call.id) ?? []) })
  session.toolResults.clear()
}

function applyCompression(session: SessionState, compression: SessionCompress): void {
  const cut = new Set(compression.truncated_messages)
  const messages = session.messages.map((message, index) =>
    message.role === 'tool' && cut.has(index) ? { ...message, content: message.content.map(omitResultText) } : message,
  )
  if (compression.summary !== null) {
    const pinned = messages
      .slice(compression.from, compression.to)
      .filter((message) => message.role === 'user' && message.pinned)
    const summary = userMessage(`Summary of the conversation so far, as data:\n${compression.summary}`)
    messages.splice(compression.from, compression.to - compression.from, ...pinned, summary)
  }
  session.responseStart = Math.max(0, session.responseStart - (session.messages.length - messages.length))
  session.messages.splice(0, session.messages.length, ...messages)
  session.bytes = systemPromptBytes(session.opening)
  for (const message of messages) session.bytes += messageTokenBound(message, JSON.stringify(message))
  session.tokenCount = UNCOUNTED
  session.unhashed.push(JSON.stringify(compression))
}

function omitResultText({ files, ...part }: ToolResultPart): ToolResultPart {
  if (part.text.startsWith(OMITTED_PREFIX)) return part
  const images = files ? ` and ${files.length} image${files.length === 1 ? '' : 's'}` : ''
  const text = `${OMITTED_PREFIX} to save context: ${part.text.length} characters${images}. Call the tool again if you need them.]`
  return { ...part, text }
}

function lastToolCalls(session: SessionState) {
  const last = session.messages.at(-1)
  return last?.role === 'assistant' ? toolCallsFrom(last) : []
}

/** Providers reject a conversation with unanswered tool calls, which an interrupted segment can leave behind. */
export function closePendingToolCalls(session: SessionState): void {
  for (const call of lastToolCalls(session)) {
    if (session.toolResults.has(call.id)) continue
    const text = 'No result: the session was interrupted before this call ended.'
    addToolResult(session, { id: call.id, name: call.name, text, is_error: true })
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
