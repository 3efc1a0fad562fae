import type { ErrorRecord } from '../errors.ts'
import { toTerminalLine } from './text-width.ts'

/** Fields that hold the words of a message, the most telling first. */
const TEXT_FIELDS = [
  ...[
    'text',
    'summary',
    'title',
    'description',
    'question',
    'answer',
    'clarification_needed',
    'message',
    'instruction',
  ],
  ...['handoff_reason', 'reason', 'response', 'verdict', 'status'],
] as const

/** The content of a message between agents in words: its own text, or else JSON. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (typeof content !== 'object' || content === null) return String(content ?? '')
  for (const field of TEXT_FIELDS) {
    const value = (content as Record<string, unknown>)[field]
    if (typeof value === 'string' && value !== '') return value
  }
  return JSON.stringify(content) ?? ''
}

/** The text of a structured response. */
export function responseText(text: string): string {
  if (!text.startsWith('{')) return text
  try {
    const { response, plan } = JSON.parse(text) as { response?: unknown; plan?: unknown }
    return [response, plan].find((value) => typeof value === 'string') ?? text
  } catch {
    return text
  }
}

/** `code: message` in one line. */
export function errorSummary(error: Pick<ErrorRecord, 'code' | 'message'>): string {
  return `${error.code}: ${toTerminalLine(error.message)}`
}
