import { TroupeError } from '../../errors.ts'
import type { LoopJudgement } from '../../judgement/loop/consultation-loop.ts'
import type { ConsultationExchange } from '../../judgement/loop/exchange-loop.ts'
import { judgeExchanges } from '../../judgement/loop/exchange-loop.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { askPerson } from './ask-person.ts'
import type { SpecialistFailure, SpecialistOutcome } from './ask-specialist.ts'
import { askSpecialist, recordQuestion } from './ask-specialist.ts'
import type { ConsultConfig } from './consult-config.ts'
import { consultSpecialists, deliverOutcome, recordFailure } from './consult-specialists.ts'
import { formatFollowUp } from './context-package/package-prompt.ts'
import type { EarlierConsultation } from './earlier-consultation.ts'
import { exchangeText, readConsultation } from './earlier-consultation.ts'
import type { ConsultContext } from './events.ts'
import type { ConsultInput, ConsultToolInput } from './input.ts'
import { recordLoop } from './loops/record-loop.ts'
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
  const text = input.question.trim()
  return recordFailure(consultation, async () => {
    const loop = judgeMessage(consultation, { message_type: 'question', agent: specialist_agent, text })
    if (loop.action !== 'continue') return respondToExchangeLoop(consultation, loop, specialist_agent)
    const question = {
      choice: { reason: consultation.reason },
      agent: specialist_agent,
      key: 'specialist/continued',
      exchange_number: consultation.exchange_number + 1,
    }
    recordQuestion(consultation, question, text)
    const outcome = await askSpecialist(consultation, question, {
      prompt: formatFollowUp(consultation.request.requesting_agent, text),
      resume: session_id,
      resumeScope: 'project',
      answer: specialistAnswer,
      allowText: true,
    })
    return deliverContinued(consultation, outcome)
  })
}

function deliverContinued(consultation: EarlierConsultation, outcome: SpecialistOutcome): Promise<PatternResult> {
  if (outcome.kind === 'failed') return consultOthers(consultation, outcome)
  if (outcome.kind !== 'clarification') return deliverOutcome(consultation, outcome)
  const { agent, answer } = outcome
  const text = answer.clarification_needed ?? ''
  const loop = judgeMessage(consultation, { message_type: 'clarification', agent, text })
  if (loop.action === 'continue') return deliverOutcome(consultation, outcome)
  return respondToExchangeLoop(consultation, loop, agent)
}

/** Judges a message to or from the specialist by those before it. */
function judgeMessage(
  { config, request, exchanges }: EarlierConsultation,
  { message_type, agent, text }: { message_type: 'question' | 'clarification'; agent: string; text: string },
): LoopJudgement {
  const { collaboration_id, requesting_agent } = request
  const earlier = exchanges.map(
    (row): ConsultationExchange => ({
      from_agent: String(row.from_agent),
      to_agent: String(row.to_agent),
      message_type: row.message_type as ConsultationExchange['message_type'],
      text: exchangeText(row.message_content),
    }),
  )
  const [from_agent, to_agent] = message_type === 'question' ? [requesting_agent, agent] : [agent, requesting_agent]
  return judgeExchanges(collaboration_id, [...earlier, { from_agent, to_agent, message_type, text }], config.limits)
}

/** A specialist that asks back the same again is replaced; at the limit a person gets everything that was said. */
function respondToExchangeLoop(
  consultation: EarlierConsultation,
  loop: LoopJudgement,
  agent: string,
): Promise<PatternResult> {
  const resolution = loop.action === 'escalate' ? 'escalated' : 'continued'
  recordLoop(consultation, loop, { key: 'exchange-loop', resolution })
  const problem = loop.findings.map(({ description }) => description).join('; ')
  if (loop.action === 'reroute') return consultOthers(consultation, { agent, problem, errors: [] })
  return askPerson(consultation, {
    reason: 'exchanges',
    root_cause: problem,
    positions: consultation.history.slice(-2).map((answer) => ({ agent: 'so far', answer })),
  })
}

function consultOthers(consultation: EarlierConsultation, failure: SpecialistFailure): Promise<PatternResult> {
  consultation.excluded.push(failure.agent)
  return consultSpecialists(consultation, { previous: { ...failure, reason: consultation.reason } })
}
