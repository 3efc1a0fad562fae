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
