import type { LoopEvidence } from '../../../judgement/loop/consultation-loop.ts'
import { redactSensitive } from '../../../judgement/redaction/redact-sensitive.ts'
import type { Answer } from '../../../kernel/session-request.ts'
import { DATA_RULE, fenceData, section } from '../../../requests/prompt-text.ts'
import type { AnswerShape } from '../../../schema/answer-shape.ts'

/*
 * A wait-for cycle: the specialist who could answer waits for the asker. The orchestrator answers from what is known, or names what is missing.
 */

export const MISSING_INFORMATION_SYSTEM =
  'You are the orchestrator. Agents wait for each other, and none of them can go on. You end the wait: with the answer if it follows from ' +
  'what is known, otherwise by naming the missing information.'

export interface MissingInformationPrompt {
  requesting_agent: string
  question: string
  current_task?: string | undefined
  specific_concern?: string | undefined
  attempted_approaches?: readonly string[] | undefined
  /** The agents of the cycle, as `frontend → backend → frontend`. */
  cycle: string
  /** The questions that wait. */
  waiting: readonly LoopEvidence[]
  /** What is known besides: answers of earlier consultations. */
  known?: readonly { question: string; answer: string }[]
}

export function formatMissingInformationRequest(prompt: MissingInformationPrompt): string {
  const { cycle, waiting, known = [] } = prompt
  const asked = {
    requesting_agent: prompt.requesting_agent,
    question: prompt.question,
    current_task: prompt.current_task,
    specific_concern: prompt.specific_concern,
    attempted_approaches: prompt.attempted_approaches,
  }
  const questions = waiting.map(({ requesting_agent, question }) => ({ requesting_agent, question }))
  return [
    section('<cycle>', `Computed, reliable: ${cycle}`),
    section('<question>', `${DATA_RULE}\n${quote([asked])}`),
    ...(questions.length === 0 ? [] : [section('<waiting_questions>', quote(questions))]),
    ...(known.length === 0 ? [] : [section('<known_answers>', quote(known))]),
  ].join('\n')
}

export const missingInformation = {
  fields: { answer: 'text?', missing_information: ['text'], who_could_know: 'text?' },
  rules: [
    '1. "answer": the answer to the question, if it follows from the text above; otherwise null. Do not guess, and do not invent facts.',
    '2. "missing_information": without an answer, each missing fact as one short question that a person could answer; with an answer, an empty list.',
    '3. "who_could_know": the person or agent outside the cycle who could know it, or null.',
  ],
  example: {
    answer: null,
    missing_information: ['Which notice period does the lease of the warehouse set?'],
    who_could_know: 'the landlord',
  },
} as const satisfies AnswerShape

/** The missing information, or the answer that makes it needless. `undefined` without either: then a person is asked. */
export function parseMissingInformation(value: Answer<typeof missingInformation>['value']) {
  const { answer = null, missing_information = [] } = value ?? {}
  if (answer !== null) return { answer, missing_information: [] }
  return missing_information.length === 0 ? undefined : { missing_information }
}

const MAX_CHARACTERS = 2000

/** One JSON object a line, so that no text can pose as another. Secrets do not leave. */
function quote(items: readonly object[]): string {
  const lines = items.map((item) =>
    JSON.stringify(item, (_, value: unknown) => (typeof value === 'string' ? shorten(value) : value)),
  )
  return fenceData(lines.join('\n'))
}

function shorten(text: string): string {
  const redacted = redactSensitive(text)
  if (redacted.length <= MAX_CHARACTERS) return redacted
  return `${redacted.slice(0, MAX_CHARACTERS)} … (${redacted.length - MAX_CHARACTERS} characters left out)`.toWellFormed()
}
