import type { PatternResult } from '../../kernel/pattern.ts'
import type { Consultation } from './consultation.ts'
import { deliverAnswer } from './deliver.ts'
import type { ConsultEventOf } from './events.ts'
import type { ConsultationAnswer } from './output.ts'

/** Why a person is asked. */
export interface PersonQuestion {
  reason: ConsultEventOf<'consult:escalated'>['data']['reason']
  /** One sentence. */
  root_cause: string
  /** The answers so far. */
  positions?: readonly { agent: string; answer: string; confidence?: number | undefined }[]
  /** Facts that would answer the question. */
  missing_information?: readonly string[]
  /** The answer that is delivered if the person approves it with an empty answer or "ok". */
  proposal?: ConsultationAnswer
}

const MAX_LINE = 300
const APPROVAL = /^\s*(?:ok(?:ay)?|yes|y|approve[d]?|agree[d]?|)\s*[.!]?\s*$/i

/** Asks a person. The answer returns to the asker and resolves the consultation. */
export async function askPerson(consultation: Consultation, escalation: PersonQuestion): Promise<PatternResult> {
  const { context, request } = consultation
  const { collaboration_id, requesting_agent, question } = request
  const { reason, root_cause, positions = [], missing_information = [], proposal } = escalation
  context.emit('escalated', 'consult:escalated', { collaboration_id, reason, root_cause })
  const answer = await context.ask('person', {
    question: [
      `${requesting_agent} asks: ${toLine(question)}`,
      `Why you are asked: ${toLine(root_cause)}`,
      ...positions.map(({ agent, answer, confidence }) =>
        toLine(`${agent}${confidence === undefined ? '' : ` (confidence ${confidence})`}: ${answer}`),
      ),
      ...missing_information.map((fact) => toLine(`Missing: ${fact}`)),
      proposal ? 'Answer "ok" to deliver this, or give the answer.' : 'Your answer goes to the agent that asked.',
    ].join('\n'),
    detail: { collaboration_id, root_cause, question, positions, missing_information, history: consultation.history },
  })
  const text = typeof answer === 'string' ? answer.trim() : JSON.stringify(answer)
  if (proposal && APPROVAL.test(text)) {
    return deliverAnswer(consultation, proposal, { outcome_type: 'escalated', note: 'A person approved this answer.' })
  }
  const delivered: ConsultationAnswer = {
    consulted_agent: 'user',
    response: { answer: text },
    suggested_next_steps: [],
    source: 'person',
  }
  return deliverAnswer(consultation, delivered, { outcome_type: 'escalated' })
}

function toLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE - 1)}…`.toWellFormed() : line
}
