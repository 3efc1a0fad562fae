import type { Recorded } from './vote-generator.ts'

const MOST_COMPLAINTS = 10

/** Reads recorded answers, one JSON object a line. Every line that is none is named; nothing is measured without it. */
export function parseRecorded(text: string, name: string): Recorded[] {
  const complaints: string[] = []
  const recorded = text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    const found = recordedLine(line)
    if (typeof found !== 'string') return [found]
    complaints.push(`${name}:${index + 1}: ${found}`)
    return []
  })
  if (complaints.length > 0) {
    const more = complaints.length > MOST_COMPLAINTS ? [`and ${complaints.length - MOST_COMPLAINTS} more lines`] : []
    throw new Error([...complaints.slice(0, MOST_COMPLAINTS), ...more].join('\n'))
  }
  if (recorded.length === 0) throw new Error(`${name}: no recorded answers in it`)
  return recorded
}

export function recordedText(recorded: readonly Recorded[]): string {
  return recorded.map((each) => `${JSON.stringify(each)}\n`).join('')
}

/** The line, or what is wrong with it. */
function recordedLine(line: string): Recorded | string {
  const value = parsed(line)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'is not a JSON object'
  const { question, truth, answers } = value as Record<string, unknown>
  if (typeof question !== 'string') return "'question' is not a text"
  if (!isAnswer(truth)) return "'truth' is neither a text nor a number"
  if (!Array.isArray(answers) || answers.length === 0) return "'answers' is not a list of answers"
  const at = answers.findIndex((answer) => answer !== null && !isAnswer(answer))
  if (at >= 0) return `'answers[${at}]' is neither a text, a number nor null`
  return { question, truth: String(truth), answers: answers.map((answer) => (answer === null ? null : String(answer))) }
}

function isAnswer(value: unknown): value is string | number {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
