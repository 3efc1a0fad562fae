/** The answer of the first agent, asked alone. */
export interface SoloAnswer {
  confidence: number | null
  recommendation: string | null
  concerns: readonly { severity: string }[]
  questions: readonly string[]
}

export interface SoloVerdict {
  /** Whether to ask more agents. */
  more: boolean
  reason: string
}

const HIGH_CONFIDENCE = 0.85
const LONG_TASK_WORDS = 120
/** Phrases of tasks that benefit from several perspectives. */
const MULTIPLE_PERSPECTIVES =
  /\b(should (we|i|they)|versus|vs\.?|trade-?offs?|pros and cons|compare|comparison|risks?|review|audit|debate|decide|decision|alternatives?|which is better)\b/i

/** Decides from the first answer and the wording of the task whether to ask more agents. */
export function shouldCollaborate(task: string, answer: SoloAnswer): SoloVerdict {
  const serious = answer.concerns.filter(({ severity }) => severity !== 'minor').length
  if (answer.recommendation === null || answer.confidence === null) {
    return { more: true, reason: 'the first answer has no recommendation or no confidence' }
  }
  if (answer.confidence < HIGH_CONFIDENCE)
    return { more: true, reason: `the confidence of the first answer is only ${percent(answer.confidence)}` }
  if (serious > 0)
    return { more: true, reason: `the first answer has ${serious} serious ${plural(serious, 'concern')}` }
  if (answer.questions.length > 0) return { more: true, reason: 'the first answer has open questions' }
  const phrase = MULTIPLE_PERSPECTIVES.exec(task)?.[0]
  if (phrase !== undefined)
    return { more: true, reason: `the task calls for several perspectives ('${phrase.toLowerCase()}')` }
  if (task.split(/\s+/).length > LONG_TASK_WORDS) return { more: true, reason: 'the task is long' }
  if ((task.match(/\?/g) ?? []).length > 1) return { more: true, reason: 'the task asks several questions' }
  return { more: false, reason: `the confidence of the first answer is ${percent(answer.confidence)}` }
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function plural(count: number, word: string): string {
  return count === 1 ? word : `${word}s`
}
