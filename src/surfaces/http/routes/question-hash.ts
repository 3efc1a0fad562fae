import { createHash } from 'node:crypto'
import type { GateRow } from '../../../index.ts'
import { refuse } from '../checks/refusal.ts'

/* Binds an answer to exactly what was shown: an agent must not be able to exchange the question under the person's hand (TOCTOU). */

/** The parts of a question that a person sees. */
export interface ShownQuestion extends Pick<GateRow, 'gate_id' | 'question'> {
  choices?: readonly string[] | undefined
  asked_by?: string | undefined
  detail?: unknown
}

/** What is shown of a question, for clients. */
export function questionData({ gate_id, question, choices, asked_by, detail }: ShownQuestion) {
  return { gate_id, question, choices: choices ?? null, asked_by: asked_by ?? null, detail: detail ?? null }
}

export function questionHash(question: ShownQuestion): string {
  const shown = JSON.stringify(Object.values(questionData(question)))
  return createHash('sha256').update(shown).digest('hex')
}

/** The id of a question in protocols whose clients send back nothing but the id. */
export function interruptIdOf(question: ShownQuestion): string {
  return `${question.gate_id}#${questionHash(question)}`
}

export function gateIdFrom(interruptId: string): string {
  return interruptId.replace(/#[0-9a-f]{64}$/, '')
}

export function questionChanged(hint: string): Error {
  return refuse(409, { code: 'question_changed', message: 'this answer is for another question', hint })
}
