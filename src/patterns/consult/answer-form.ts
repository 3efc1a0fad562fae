import { jsonAnswer } from '../../requests/prompt-text.ts'

/** Names things that no project of developers has: a model that copies the example is noticed. */
export const ANSWER_EXAMPLE = {
  answer: 'The lease of the warehouse ends on 31 March and is extended by a letter before 1 January.',
  clarification_needed: null,
  additional_context: 'The deposit is paid back four weeks later.',
  code_reference: 'contracts/lease.md lines 12-20',
  suggested_next_steps: ['Write the letter in December'],
  confidence: 0.9,
}

/** The form of a specialist's answer. */
export const ANSWER_FORM = jsonAnswer(
  [
    '"answer": complete and exact; the asker sees nothing but this object. "additional_context" and "code_reference" (path and lines) are null',
    'where there is none. "confidence": from 0 to 1.',
    'Only if a fact that the asker alone has would change the answer: "answer" is null, and "clarification_needed" is one question.',
  ],
  ANSWER_EXAMPLE,
)
