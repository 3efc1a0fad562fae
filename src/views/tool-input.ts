import type { ToolPre } from '../kernel/event.ts'
import type { Redactor } from '../kernel/redactor.ts'
import { redactJson } from '../kernel/redactor.ts'

/** The input of a tool call as text: the only field if it is a text, else JSON. */
export function toolInputText(input: unknown): string {
  if (typeof input !== 'object' || input === null) return String(input)
  const entries = Object.entries(input)
  const [only] = entries
  if (entries.length === 1 && only && typeof only[1] === 'string') return only[1]
  return JSON.stringify(input)
}

/** Names that tools give to the field that a call is about, the most telling first. */
const TARGET_FIELDS = [
  ...['file_path', 'path', 'command', 'url', 'agent', 'agents', 'pattern', 'query', 'question', 'name', 'instruction'],
  ...['description', 'message', 'text'],
] as const

/** The file, command, address or agent that a tool call is about. The names of other fields may tell the redactor what a secret is. */
export function toolTarget(
  { subject, agent, input }: Pick<ToolPre, 'subject' | 'agent' | 'input'>,
  redactor?: Redactor,
): string {
  if (subject !== undefined && subject !== '') return subject
  if (agent !== undefined) return agent
  if (typeof input !== 'object' || input === null) return String(input ?? '')
  for (const field of TARGET_FIELDS) {
    const value = (input as Record<string, unknown>)[field]
    if (typeof value === 'string' && value !== '') return value
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(', ')
  }
  if (Object.keys(input).length === 0) return ''
  return toolInputText(redactor ? redactJson(redactor, input) : input)
}
