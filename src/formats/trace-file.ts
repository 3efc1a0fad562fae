import { readFile, stat } from 'node:fs/promises'
import { TroupeError } from '../errors.ts'
import type { TraceMessage } from '../judgement/loop/trace.ts'

/*
 * Reads the messages of a trace that another program recorded: a JSON array, an object with `history` or `messages`, or one object
 * a line. A message has a speaker (`agent`, `name` or `role`) and a `content`. Transcripts of coding agents, with their tool calls
 * and results, are read as well. Records of unknown kinds are left out, never fatal.
 */

export interface Trace {
  messages: TraceMessage[]
  /** Position of each message in the file: the index of its record, from 0. */
  records: number[]
}

/** Limits memory use. */
const MAX_BYTES = 256 * 1024 * 1024
const LIST_KEYS = ['history', 'messages', 'trace', 'events'] as const
const PEOPLE = new Set(['human', 'user'])
const NEW_PLAN = /^\W*(?:(?:new|initial|updated|revised)\s+plan\b|re-?planning\b)/i
const THOUGHT = /^(?:thought|thinking|termination condition|internal)$/i

type JsonObject = Readonly<Record<string, unknown>>

export async function readTraceFile(path: string): Promise<Trace> {
  const information = await stat(path).catch(() => undefined)
  if (!information?.isFile())
    throw new TroupeError('invalid_input', `there is no trace file ${path}`, {
      hint: 'check the path; `troupe loops FILE` reads a file with messages',
    })
  if (information.size > MAX_BYTES)
    throw new TroupeError('invalid_input', `the trace file ${path} is larger than ${MAX_BYTES >> 20} MB`, {
      hint: 'split FILE into one file per conversation',
    })
  return parseTrace(await readFile(path, 'utf8'), path)
}

/** Parses the text of a trace; `path` is for messages. */
export function parseTrace(text: string, path: string): Trace {
  const trace: Trace = { messages: [], records: [] }
  const tools = new Map<string, string>()
  parseRecords(text.replace(/^\uFEFF/, ''), path).forEach((record, index) => {
    for (const message of messagesOf(record, tools)) {
      trace.messages.push(message)
      trace.records.push(index)
    }
  })
  if (trace.messages.length === 0)
    throw new TroupeError('invalid_input', `the trace file ${path} has no messages`, {
      hint: 'FILE needs records such as {"agent": "researcher", "content": "…"}: a JSON array, or one a line',
    })
  return trace
}

function parseRecords(text: string, path: string): unknown[] {
  const whole = tryParse(text)
  if (Array.isArray(whole)) return whole
  if (isObject(whole)) {
    const list = LIST_KEYS.map((key) => whole[key]).find(Array.isArray)
    return list ?? [whole]
  }
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    const record = tryParse(line)
    if (record === undefined)
      throw new TroupeError('invalid_input', `${path}:${index + 1} is not JSON`, {
        hint: 'FILE is a JSON array of messages, or has one JSON object a line',
      })
    return [record]
  })
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function messagesOf(record: unknown, tools: Map<string, string>): TraceMessage[] {
  if (!isObject(record)) return []
  // Coding agents wrap the message, and mark the conversation of a sub-agent.
  const message = isObject(record.message) ? record.message : record
  const speaker = speakerOf(message, textOf(record.agentId))
  if (speaker === undefined) return []
  const { content } = message
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.filter(isObject) : []
  const parts: unknown[] = Array.isArray(content) ? content : [content ?? message.text]
  return [
    ...parts.flatMap((part) => partMessages(part, speaker, tools)),
    ...calls.map((call) => callMessage(call, speaker, tools)),
  ]
}

type Speaker = Pick<TraceMessage, 'agent' | 'kind'> & { to?: string }

/** `Orchestrator (-> WebSurfer)` names an addressee, `Orchestrator (thought)` a message that nobody else sees. */
function speakerOf(message: JsonObject, subAgent: string | undefined): Speaker | undefined {
  const role = textOf(message.role)
  const name = textOf(message.agent) ?? textOf(message.name) ?? textOf(message.from) ?? subAgent
  const label = name ?? role
  if (label === undefined || role === 'system') return undefined
  const to = textOf(message.to)
  const marked = /^(.*?)\s*\((->|→)?\s*([^()]+)\)$/u.exec(role !== undefined && /\(.+\)$/u.test(role) ? role : label)
  if (marked?.[1] && marked[3]) {
    if (marked[2]) return { agent: name ?? marked[1], kind: 'message', to: marked[3] }
    if (THOUGHT.test(marked[3])) return { agent: name ?? marked[1], kind: 'thought' }
  }
  const isPerson = PEOPLE.has(label.toLowerCase()) || (name === undefined && role !== undefined && PEOPLE.has(role))
  return { agent: label, kind: isPerson ? 'person' : 'message', ...(to !== undefined && { to }) }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

function partMessages(part: unknown, speaker: Speaker, tools: Map<string, string>): TraceMessage[] {
  if (typeof part === 'string') return textMessage(part, speaker)
  if (!isObject(part)) return []
  if (part.type === 'tool_use') return [callMessage(part, speaker, tools)]
  if (part.type === 'tool_result') {
    const text = resultText(part.content)
    return [{ agent: tools.get(String(part.tool_use_id)) ?? 'tool', kind: 'result', text }]
  }
  return typeof part.text === 'string' ? textMessage(part.text, speaker) : []
}

function textMessage(text: string, speaker: Speaker): TraceMessage[] {
  if (text.trim() === '') return []
  return [{ ...speaker, text, ...(speaker.kind !== 'person' && NEW_PLAN.test(text) && { kind: 'plan' as const }) }]
}

/** A tool call is an instruction to the tool. */
function callMessage(call: JsonObject, speaker: Speaker, tools: Map<string, string>): TraceMessage {
  const definition = isObject(call.function) ? call.function : call
  const tool = textOf(definition.name) ?? 'tool'
  const input = definition.input ?? definition.arguments
  tools.set(String(call.id), tool)
  return {
    agent: speaker.agent,
    to: tool,
    kind: 'call',
    text: `${tool} ${typeof input === 'string' ? input : JSON.stringify(input)}`,
  }
}

function resultText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('\n')
}
