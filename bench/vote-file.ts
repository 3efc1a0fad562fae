import type { RecordedQuestion } from './vote-generator.ts'

const MAX_PROBLEMS = 10

/** Parses recorded answers, one JSON object per line; throws with every invalid line. */
export function parseQuestions(text: string, name: string): RecordedQuestion[] {
  const problems: string[] = []
  const recorded = text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    const parsed = parseQuestion(line)
    if (typeof parsed !== 'string') return [parsed]
    problems.push(`${name}:${index + 1}: ${parsed}`)
    return []
  })
  if (problems.length > 0) {
    const more = problems.length > MAX_PROBLEMS ? [`and ${problems.length - MAX_PROBLEMS} more lines`] : []
    throw new Error([...problems.slice(0, MAX_PROBLEMS), ...more].join('\n'))
  }
  if (recorded.length === 0) throw new Error(`${name} contains no recorded answers`)
  return recorded
}

export function formatQuestions(recorded: readonly RecordedQuestion[]): string {
  return recorded.map((each) => `${JSON.stringify(each)}\n`).join('')
}

/** Returns the question, or the problem as text. */
function parseQuestion(line: string): RecordedQuestion | string {
  const value = parseJson(line)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'not a JSON object'
  const { question, truth, answers } = value as Record<string, unknown>
  if (typeof question !== 'string') return "'question' must be a string"
  if (!isAnswer(truth)) return "'truth' must be a string or a number"
  if (!Array.isArray(answers) || answers.length === 0) return "'answers' must be a non-empty list"
  const invalid = answers.findIndex((answer) => answer !== null && !isAnswer(answer))
  if (invalid >= 0) return `'answers[${invalid}]' must be a string, a number or null`
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
