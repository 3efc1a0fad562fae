import { splitPassages } from '../../../judgement/relevance/passages.ts'
import type { Message, ToolCallPart, ToolResultPart } from '../../../kernel/model.ts'
import type { Candidate, PackageField } from './candidate.ts'

/* Reads the asker's conversation: what it was told, read, tried and saw fail. Reasoning is private and left out. */

const CODE_PASSAGE = 900
const PROSE_PASSAGE = 600
/** One huge result must not take all the time: its beginning and its end say the most. */
const MAX_RESULT = 200_000

type Redact = (text: string) => string

/** A conversation as candidates, and the files that it read or changed, last used first. */
export interface ConversationMaterial {
  candidates: Candidate[]
  files: string[]
  /** The newest instruction of the user or of the calling agent. */
  task: string
  /** Tokens of the whole history, for comparison. */
  characters: number
}

export function readConversation(messages: readonly Message[], redact: Redact): ConversationMaterial {
  const calls = new Map<string, ToolCallPart>()
  const files = new Set<string>()
  const candidates: Candidate[] = []
  let task = ''
  let characters = 0
  messages.forEach((message, index) => {
    const recency = messages.length < 2 ? 1 : index / (messages.length - 1)
    const add = (text: string, kind: TextKind) => {
      characters += text.length
      candidates.push(...toCandidates(redact(text), { ...kind, message: index, recency }))
    }
    for (const part of message.content) {
      if (part.type === 'text') {
        if (message.role === 'user' && part.text.trim() !== '') task = part.text
        add(part.text, messageKind(message.role, part.text))
      } else if (part.type === 'tool-call') {
        calls.set(part.id, part)
        const change = describeChange(part)
        if (change !== '') add(change, { source: 'conversation', placement: { field: 'attempted_solutions' } })
        const path = callPath(part)
        // Deleted first: the order of a set is that of insertion.
        if (path !== '' && files.delete(path)) files.add(path)
        else if (path !== '') files.add(path)
      } else if (part.type === 'tool-result' && !isConfirmation(part, calls.get(part.id)))
        add(shorten(part.text), resultKind(part, calls.get(part.id)))
    }
  })
  return { candidates, files: [...files].reverse().map(redact), task: redact(task), characters }
}

interface TextKind {
  source: Candidate['source']
  placement: PackageField
  /** Instead of `message 12`. */
  origin?: string
}

function messageKind(role: Message['role'], text: string): TextKind {
  if (role !== 'user' && ATTEMPT.test(text))
    return { source: 'conversation', placement: { field: 'attempted_solutions' } }
  return {
    source: 'conversation',
    placement: { field: 'conversation_excerpts', from: role === 'user' ? 'user' : 'agent' },
  }
}

/** A short report of something that was tried; longer texts hold more than that. */
const ATTEMPT =
  /^[\s\S]{0,400}\b(?:I(?:'ve| have)? (?:also )?tried|did(?: not|n't) (?:help|work)|still (?:fails|failing)|no (?:effect|luck)|same (?:error|result))\b[\s\S]{0,400}$/i

function resultKind({ name, is_error }: ToolResultPart, call: ToolCallPart | undefined): TextKind {
  const path = call ? callPath(call) : ''
  const command = inputText(call, 'command')
  const origin = path || (command === '' ? name : `$ ${command.replace(/\s+/g, ' ').slice(0, 120)}`)
  if (is_error) return { source: 'tool_result', placement: { field: 'error_messages' }, origin }
  if (path !== '') return { source: 'file', placement: { field: 'code_snippets', path }, origin }
  return { source: 'tool_result', placement: { field: 'conversation_excerpts', from: 'tool' }, origin }
}

function callPath({ input }: ToolCallPart): string {
  if (typeof input !== 'object' || input === null) return ''
  const named = input as Record<string, unknown>
  const path = named.file_path ?? named.notebook_path ?? named.path
  return typeof path === 'string' ? path.slice(0, 300) : ''
}

function inputText(call: ToolCallPart | undefined, key: string): string {
  const value = (call?.input as Record<string, unknown> | undefined)?.[key]
  return typeof value === 'string' ? value : ''
}

/** The result of a successful change says nothing that the change does not. */
function isConfirmation({ is_error }: ToolResultPart, call: ToolCallPart | undefined): boolean {
  return !is_error && (inputText(call, 'new_string') !== '' || inputText(call, 'content') !== '')
}

/** A change of a file as something that was tried. */
function describeChange(call: ToolCallPart): string {
  const path = callPath(call)
  const [before, after] = [inputText(call, 'old_string'), inputText(call, 'new_string')]
  if (path === '' || (before === '' && after === '')) return ''
  const lines = (text: string, mark: string) =>
    text
      .split('\n')
      .slice(0, 12)
      .map((line) => `${mark} ${line}`)
  return [`Changed ${path}:`, ...lines(before, '-'), ...lines(after, '+')].join('\n')
}

interface TextOrigin extends TextKind {
  message: number
  recency: number
}

/** Lines that report a failure. */
const ERROR_LINE =
  /^(?!.*\b0 (?:errors|failed|failures)\b).*(?:\b(?:[A-Z]\w*(?:Error|Exception)|E[A-Z]{4,}|Traceback|panic|FATAL|Segmentation fault)\b|\b(?:error|fatal|failed|failure)\b\s*[:[(]|✗|✕|\bFAIL\b)/m

function toCandidates(text: string, { source, placement, origin, message, recency }: TextOrigin): Candidate[] {
  const isProse = source === 'conversation'
  const passages = splitPassages(text, isProse ? PROSE_PASSAGE : CODE_PASSAGE)
  return passages.map((passage, index) => {
    const lines = passages.length > 1 && source === 'file' ? `:${passage.firstLine}-${passage.lastLine}` : ''
    const isError = source === 'tool_result' && ERROR_LINE.test(passage.text)
    return {
      source,
      origin: (origin ?? `message ${message + 1}`) + lines,
      position: [message, index],
      text: passage.text,
      placement: isError ? { field: 'error_messages' } : placement,
      // Old reads of a file may be out of date; what the user said is not.
      prior: FIELD_PRIORS[isError ? 'error_messages' : placement.field] * (0.85 + 0.15 * recency),
    }
  })
}

/** Errors and attempts say more about a problem than files that were only read. */
const FIELD_PRIORS: Readonly<Record<PackageField['field'], number>> = {
  code_snippets: 0.9,
  error_messages: 1.1,
  attempted_solutions: 1.1,
  conversation_excerpts: 1,
  relevant_architecture_decisions: 1,
  similar_past_collaborations: 1,
  best_practices: 1,
}

function shorten(text: string): string {
  if (text.length <= MAX_RESULT) return text
  return `${text.slice(0, MAX_RESULT / 2)}\n[…]\n${text.slice(-MAX_RESULT / 2)}`
}
