import type { Answer } from '../../kernel/session-request.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import { jsonAnswer } from '../../requests/prompt-text.ts'
import { readAnswer, readText } from '../../requests/read-answer.ts'
import type { AnswerShape } from '../../schema/answer-shape.ts'

const fields = {
  answer: 'text?',
  clarification_needed: 'text?',
  additional_context: 'text?',
  code_reference: 'text?',
  suggested_next_steps: ['text'],
  confidence: 'confidence',
} as const

/** The answer of a specialist. The example names things that no project of developers has: a model that copies it is noticed. */
export const specialistAnswer = {
  fields,
  rules: [
    '"answer": complete and exact; the asker sees nothing but this object. "additional_context" and "code_reference" (path and lines) are null',
    'where there is none. "confidence": from 0 to 1.',
    'Only if a fact that the asker alone has would change the answer: "answer" is null, and "clarification_needed" is one question.',
  ],
  example: {
    answer: 'The lease of the warehouse ends on 31 March and is extended by a letter before 1 January.',
    clarification_needed: null,
    additional_context: 'The deposit is paid back four weeks later.',
    code_reference: 'contracts/lease.md lines 12-20',
    suggested_next_steps: ['Write the letter in December'],
    confidence: 0.9,
  },
} as const satisfies AnswerShape

export const ANSWER_FORM = jsonAnswer(specialistAnswer.rules, specialistAnswer.example)

/** The answer of the orchestrator from those of several specialists. */
export const synthesisAnswer = {
  fields,
  rules: [
    '"answer": complete and exact. "code_reference": paths and lines, or null.',
    '"suggested_next_steps": without repetitions. "confidence": from 0 to 1.',
  ],
  example: {
    answer: 'The lease ends on 31 March; the alarm code changes on the same day.',
    clarification_needed: null,
    additional_context: 'The lawyer and the caretaker differ on the deposit: the contract names 500, the receipt 450.',
    code_reference: 'lease.pdf page 4',
    suggested_next_steps: ['Ask the landlord for the receipt'],
    confidence: 0.7,
  },
} as const satisfies AnswerShape

export interface SpecialistAnswer {
  answer: string
  clarification_needed?: string
  additional_context?: string
  code_reference?: string
  suggested_next_steps: string[]
  confidence?: number
}

export function parseSpecialistAnswer(session: Pick<SessionResult, 'text' | 'object'>): SpecialistAnswer {
  return toSpecialistAnswer({ ...readAnswer(specialistAnswer, session), text: session.text })
}

/** Prose is an answer; one copied from the example is none. */
export function toSpecialistAnswer({
  value,
  fields: found,
  text,
}: Pick<Answer<{ fields: typeof fields; example: object }>, 'value' | 'fields' | 'text'>): SpecialistAnswer {
  if (!value || (value.answer === null && value.clarification_needed === null)) {
    const isCopied = readText(found?.answer) !== ''
    return { answer: isCopied ? '' : text.trim(), suggested_next_steps: [] }
  }
  const { answer, clarification_needed, additional_context, code_reference, confidence, suggested_next_steps } = value
  return {
    answer: answer ?? '',
    suggested_next_steps,
    // An answer that also asks something back is an answer: the question goes with it as context.
    ...(clarification_needed === null || answer !== null ? undefined : { clarification_needed }),
    ...(additional_context === null ? undefined : { additional_context }),
    ...(code_reference === null ? undefined : { code_reference }),
    ...(confidence === null ? undefined : { confidence }),
  }
}
