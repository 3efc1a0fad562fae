import { TroupeError } from '../../errors.ts'
import { judgeExchanges } from '../../judgement/loop/exchange-loop.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { askPerson } from './ask-person.ts'
import type { SpecialistOutcome } from './ask-specialist.ts'
import { askSpecialist, recordQuestion } from './ask-specialist.ts'
import type { ConsultConfig } from './consult-config.ts'
import { consultSpecialists, deliverOutcome, recordFailure } from './consult-specialists.ts'
import { formatFollowUp } from './context-package/package-prompt.ts'
import type { EarlierConsultation } from './earlier-consultation.ts'
import { exchangeText, readConsultation } from './earlier-consultation.ts'
import type { ConsultContext } from './events.ts'
import type { ConsultInput, ConsultToolInput } from './input.ts'
import { specialistAnswer } from './specialist-answer.ts'

type Continuation = (ConsultInput | ConsultToolInput) & { collaboration_id: string }

/** The asker replies to a clarification, or asks a follow-up: the specialist's session continues. */
export async function continueConsultation(
  config: ConsultConfig,
  context: ConsultContext,
  input: Continuation,
): Promise<PatternResult> {
  const consultation = await readConsultation(config, context, input.collaboration_id)
  const { specialist_agent, session_id } = consultation
  if (specialist_agent === null || session_id === null) {
    throw new TroupeError(
      'invalid_input',
      `no specialist took part in \`collaboration_id\` ${input.collaboration_id}`,
      {
        hint: 'ask anew, without `collaboration_id`',
      },
    )
  }
  return recordFailure(consultation, async () => {
    const max = config.limits.max_exchanges_per_collaboration
    if (consultation.exchange_number >= max) return escalateAtLimit(consultation, max)
    const question = {
      choice: { reason: consultation.reason },
      agent: specialist_agent,
      key: 'specialist/continued',
      exchange_number: consultation.exchange_number + 1,
    }
    recordQuestion(consultation, question, input.question.trim())
    const outcome = await askSpecialist(consultation, question, {
      instruction: formatFollowUp(consultation.request.requesting_agent, input.question.trim()),
      resume: session_id,
      output: specialistAnswer,
      allowText: true,
    })
    return deliverContinued(consultation, outcome)
  })
}

async function deliverContinued(consultation: EarlierConsultation, outcome: SpecialistOutcome): Promise<PatternResult> {
  if (outcome.kind === 'failed') {
    const { agent, problem } = outcome
    consultation.excluded.push(agent)
    return consultSpecialists(consultation, { previous: { agent, reason: consultation.reason, problem } })
  }
  if (outcome.kind !== 'clarification') return deliverOutcome(consultation, outcome)
  const { context, config, request } = consultation
  const exchanges = consultation.exchanges.map(({ from_agent, to_agent, message_type, message_content }) => ({
    from_agent: String(from_agent),
    to_agent: String(to_agent),
    message_type: message_type as 'question' | 'response' | 'clarification',
    text: exchangeText(message_content),
  }))
  const latest = {
    from_agent: outcome.agent,
    to_agent: request.requesting_agent,
    message_type: 'clarification' as const,
  }
  const text = outcome.answer.clarification_needed ?? ''
  const loop = judgeExchanges(request.collaboration_id, [...exchanges, { ...latest, text }], config.limits)
  if (loop.action === 'continue' || loop.action === 'nudge') return deliverOutcome(consultation, outcome)
  context.emit('exchange-loop', 'consult:loop', {
    collaboration_id: request.collaboration_id,
    loop_type: loop.findings[0]?.type ?? loop.status.toLowerCase(),
    evidence: loop.findings,
    resolution: loop.action === 'escalate' ? 'escalated' : 'continued',
    notes: loop.findings.map(({ description }) => description).join('; '),
  })
  if (loop.action === 'reroute') {
    const problem = loop.findings[0]?.description ?? 'it asks back the same again'
    consultation.excluded.push(outcome.agent)
    return consultSpecialists(consultation, {
      previous: { agent: outcome.agent, reason: consultation.reason, problem },
    })
  }
  return escalateAtLimit(consultation, config.limits.max_exchanges_per_collaboration)
}

/** A person gets everything that was said. */
function escalateAtLimit(consultation: EarlierConsultation, max: number): Promise<PatternResult> {
  const agent = consultation.specialist_agent ?? 'the specialist'
  return askPerson(consultation, {
    reason: 'exchanges',
    root_cause: `${consultation.request.requesting_agent} and ${agent} used all exchanges (max_exchanges_per_collaboration is ${max}) without an answer`,
    positions: consultation.history.slice(-2).map((answer) => ({ agent: 'so far', answer })),
  })
}
