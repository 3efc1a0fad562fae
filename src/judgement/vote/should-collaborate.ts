/** What is known after one was asked alone. */
export interface SoloAnswer {
  confidence: number | null
  recommendation: string | null
  concerns: readonly { severity: string }[]
  questions: readonly string[]
}

export interface SoloVerdict {
  /** True when more voices are worth their price. */
  more: boolean
  reason: string
}

const HIGH_CONFIDENCE = 0.85
const LONG_TASK_WORDS = 120
/** Words of tasks that have more than one side. */
const MULTIPLE_SIDES =
  /\b(should (we|i|they)|versus|vs\.?|trade-?offs?|pros and cons|compare|comparison|risks?|review|audit|debate|decide|decision|alternatives?|which is better)\b/i

/** Whether others should be asked too, from the first answer and the shape of the task. */
export function shouldCollaborate(task: string, answer: SoloAnswer): SoloVerdict {
  const serious = answer.concerns.filter(({ severity }) => severity !== 'minor').length
  if (answer.recommendation === null || answer.confidence === null) {
    return { more: true, reason: 'the first answer does not say how sure it is' }
  }
  if (answer.confidence < HIGH_CONFIDENCE)
    return { more: true, reason: `the first answer is only ${percent(answer.confidence)} sure` }
  if (serious > 0)
    return { more: true, reason: `the first answer has ${serious} serious ${plural(serious, 'concern')}` }
  if (answer.questions.length > 0) return { more: true, reason: 'the first answer leaves questions open' }
  const sides = MULTIPLE_SIDES.exec(task)?.[0]
  if (sides !== undefined) return { more: true, reason: `the task has more than one side ('${sides.toLowerCase()}')` }
  if (task.split(/\s+/).length > LONG_TASK_WORDS) return { more: true, reason: 'the task is long' }
  if ((task.match(/\?/g) ?? []).length > 1) return { more: true, reason: 'the task asks several questions' }
  return { more: false, reason: `one voice is ${percent(answer.confidence)} sure, and the task has one side` }
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function plural(count: number, word: string): string {
  return count === 1 ? word : `${word}s`
}
