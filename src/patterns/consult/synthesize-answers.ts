import type { ErrorRecord } from '../../errors.ts'
import type { SpecialistOutcome } from './ask-specialist.ts'
import type { Consultation } from './consultation.ts'
import { orchestratorFor } from './orchestrator.ts'
import type { SpecialistAnswer } from './specialist-answer.ts'
import { synthesisAnswer, toSpecialistAnswer } from './specialist-answer.ts'
import { formatSynthesisRequest, SYNTHESIS_SYSTEM } from './synthesis-prompt.ts'

type Answered = Extract<SpecialistOutcome, { answer: SpecialistAnswer }>

/** One answer from those of several specialists, by the orchestrator. One that failed is named as missing, and sinks nobody else. */
export async function synthesizeAnswers(
  consultation: Consultation,
  outcomes: readonly SpecialistOutcome[],
): Promise<SpecialistOutcome> {
  const { context, config, request } = consultation
  const answered = outcomes.filter((outcome): outcome is Answered => 'answer' in outcome)
  const [first] = answered
  const stopped = outcomes.find((outcome) => outcome.kind === 'stopped')
  if (stopped) return { ...stopped, errors: [...stopped.errors, ...failureErrors(outcomes)] }
  if (!first) return withAllErrors(outcomes)
  const missing = outcomes.flatMap((outcome) => ('answer' in outcome ? [] : [outcome.agent]))
  const agent = answered.map((outcome) => outcome.agent).join(', ')
  const notes = missing.length === 0 ? [] : [`No answer from ${missing.join(', ')}.`]
  if (answered.length === 1) return withNotes(first, notes)
  const session = await context.request({
    ...orchestratorFor(config, SYNTHESIS_SYSTEM),
    key: 'synthesis',
    prompt: formatSynthesisRequest(request, answered),
    answer: synthesisAnswer,
  })
  const spend = await context.readSpend('synthesis-spend', { under: 'synthesis' })
  context.emit('synthesis-exchange', 'consult:exchange', {
    collaboration_id: request.collaboration_id,
    exchange_number: 1,
    from_agent: 'orchestrator',
    to_agent: request.requesting_agent,
    message_type: 'response',
    message_content: { answer: session.text },
    tokens: { delivery: spend.input + spend.output },
    cost_usd: spend.usd,
  })
  if (session.status === 'completed' && session.text.trim() !== '') {
    return withNotes({ kind: 'answer', agent, answer: lowestConfidence(toSpecialistAnswer(session), answered) }, notes)
  }
  return withNotes({ kind: 'answer', agent, answer: joinAnswers(answered) }, notes)
}

/** The errors of all who failed: resume retries each of them. */
function failureErrors(outcomes: readonly SpecialistOutcome[]): ErrorRecord[] {
  const errors = outcomes.flatMap((outcome) => ('errors' in outcome ? outcome.errors : []))
  return errors.filter((error) => error !== null)
}

/** The outcome of specialists of whom none answered. */
function withAllErrors(outcomes: readonly SpecialistOutcome[]): SpecialistOutcome {
  const [first] = outcomes
  if (!first) return { kind: 'failed', agent: '', problem: 'no specialist was asked', errors: [null] }
  if (first.kind !== 'failed') return first
  const failed = outcomes.filter((outcome) => outcome.kind === 'failed')
  const problem = failed.map((each, index) => (index === 0 ? each.problem : `${each.agent} failed: ${each.problem}`))
  return { ...first, problem: problem.join('; '), errors: failed.flatMap(({ errors }) => errors) }
}

/** The orchestrator cannot be surer than the least sure specialist it relies on. */
function lowestConfidence(answer: SpecialistAnswer, answered: readonly Answered[]): SpecialistAnswer {
  const stated = [answer, ...answered.map((each) => each.answer)].flatMap(({ confidence }) => confidence ?? [])
  return stated.length === 0 ? answer : { ...answer, confidence: Math.min(...stated) }
}

/** Without a synthesis, the answers one after the other: nothing that was paid for is lost. */
function joinAnswers(answered: readonly Answered[]): SpecialistAnswer {
  return {
    answer: answered
      .map(({ agent, answer }) => `${agent}: ${answer.clarification_needed ?? answer.answer}`)
      .join('\n\n'),
    suggested_next_steps: answered.flatMap(({ answer }) => answer.suggested_next_steps),
  }
}

function withNotes(outcome: Answered, notes: readonly string[]): Answered {
  if (notes.length === 0) return outcome
  const additional_context = [outcome.answer.additional_context ?? '', ...notes].join('\n').trim()
  return { ...outcome, answer: { ...outcome.answer, additional_context } }
}
