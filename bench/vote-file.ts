import type { RecordedQuestion } from './vote-generator.ts'

const MAX_PROBLEMS = 10

/** Reads recorded answers, one JSON object a line. Every line that is none is named; nothing is measured without it. */
export function parseQuestions(text: string, name: string): RecordedQuestion[] {
  const complaints: string[] = []
  const recorded = text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    const found = parseQuestion(line)
    if (typeof found !== 'string') return [found]
    complaints.push(`${name}:${index + 1}: ${found}`)
    return []
  })
  if (complaints.length > 0) {
    const more = complaints.length > MAX_PROBLEMS ? [`and ${complaints.length - MAX_PROBLEMS} more lines`] : []
    throw new Error([...complaints.slice(0, MAX_PROBLEMS), ...more].join('\n'))
  }
  if (recorded.length === 0) throw new Error(`${name}: no recorded answers in it`)
  return recorded
}

export function formatQuestions(recorded: readonly RecordedQuestion[]): string {
  return recorded.map((each) => `${JSON.stringify(each)}\n`).join('')
}

/** The line, or what is wrong with it. */
function parseQuestion(line: string): RecordedQuestion | string {
  const value = parseJson(line)
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

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
