import type { ErrorRecord } from '../../errors.ts'
import { toTroupeError } from '../../errors.ts'
import { isFatal } from '../../kernel/journal/fatal-error.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { isResumableFailure } from '../../kernel/resumable-failure.ts'
import { answerInCycle } from './answer-in-cycle.ts'
import { askPerson } from './ask-person.ts'
import type { SpecialistFailure, SpecialistOutcome } from './ask-specialist.ts'
import { askSpecialist, prepareQuestion, recordQuestion, specialistKey } from './ask-specialist.ts'
import type { Consultation } from './consultation.ts'
import {
  deliverAnswer,
  deliverClarification,
  deliverFailure,
  deliverOutage,
  deliverTimeout,
  toConsultationAnswer,
} from './deliver.ts'
import { checkForCycle } from './loops/check-for-cycle.ts'
import type { ConsultationAnswer } from './output.ts'
import type { RecordedRows } from './routing/load-and-history.ts'
import type { SpecialistChoice } from './routing/select-specialist.ts'
import { selectSpecialist } from './routing/select-specialist.ts'
import { startInBackground } from './start-in-background.ts'
import { synthesizeAnswers } from './synthesize-answers.ts'

/** A consultation that ends with an error is recorded as `failed`, so that nobody waits for it. */
export async function recordFailure(
  { context, request: { collaboration_id } }: Consultation,
  work: () => Promise<PatternResult>,
): Promise<PatternResult> {
  try {
    return await work()
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (isFatal(error) || error.code === 'cancelled') throw thrown
    context.emit('error', 'consult:failed', { collaboration_id, error: error.toJSON() })
    throw thrown
  }
}

/** Specialists that are asked for one question, one after the other, before a person is. */
const MAX_ATTEMPTS = 3

export interface ConsultOptions {
  background?: boolean
  /** The specialist that failed before, when a collected consultation is routed again. */
  previous?: SpecialistFailure & { reason: string }
  firstAttempt?: number
  /** For the first attempt. */
  records?: RecordedRows | undefined
}

/** Routes the question until a specialist answers, or else asks a person. */
export async function consultSpecialists(
  consultation: Consultation,
  { background = false, firstAttempt = 1, ...options }: ConsultOptions,
): Promise<PatternResult> {
  const { context, config, request } = consultation
  const failures: SpecialistFailure[] = options.previous ? [options.previous] : []
  let { previous, records } = options
  for (let number = firstAttempt; number < firstAttempt + MAX_ATTEMPTS; number++) {
    const { excluded } = consultation
    const selection = { request, config, excluded, previous, records, key: `route/${number}` }
    const choice = await selectSpecialist(context, selection)
    if ('none' in choice) return endUnanswered(consultation, failures, choice)
    consultation.reason = choice.reason
    await recordRoute(consultation, choice, number)
    const cycle = await checkForCycle(context, { request, agent: choice.agent, key: `cycle/${number}` })
    if (cycle.action === 'answer_by_orchestrator') return answerInCycle(consultation, cycle)
    if (background) return startInBackground(consultation, choice, number)
    const outcome = await askChosen(consultation, choice, number)
    if (outcome.kind !== 'failed') return deliverOutcome(consultation, outcome)
    consultation.excluded.push(...choice.agents)
    failures.push(outcome)
    previous = { ...outcome, reason: choice.reason }
    records = undefined
  }
  return endUnanswered(consultation, failures, { none: 'no specialist answered' })
}

/** Asks a person, unless nobody could be reached: then the consultation fails, and resume repeats what failed. */
async function endUnanswered(
  consultation: Consultation,
  failures: readonly SpecialistFailure[],
  { none: why, error }: { none: string; error?: ErrorRecord },
): Promise<PatternResult> {
  const tried = failures.map(({ agent, problem }) => `${agent} failed: ${problem}`)
  const unrouted = error ? [{ agent: 'orchestrator', problem: why, errors: [error] }] : []
  const [first, ...others] = outageErrors([...failures, ...unrouted])
  if (first) return deliverOutage(consultation, [first, ...others], error ? [...tried, why] : tried)
  const [only] = failures.length === 1 ? outageErrors(failures.map(toUncollected)) : []
  // With nothing to retry, the engine takes up the session and collects its result anew.
  if (only) return { ...deliverOutage(consultation, [only], [...tried, why]), incomplete: [] }
  return askPerson(consultation, {
    reason: failures.length === 0 ? 'no_specialist' : 'specialists_failed',
    root_cause: [...tried, why].join('; '),
  })
}

/** The errors of the specialists, if all failed for a reason outside the run; otherwise none. */
function outageErrors(failures: readonly SpecialistFailure[]): ErrorRecord[] {
  const errors = failures.flatMap((failure) => failure.errors)
  const isOutage = errors.every((error) => error?.step !== undefined && isResumableFailure(error))
  return isOutage ? errors.filter((error) => error !== null) : []
}

function toUncollected(failure: SpecialistFailure): SpecialistFailure {
  return { ...failure, errors: failure.collected ?? failure.errors }
}

async function recordRoute(consultation: Consultation, choice: SpecialistChoice, attempt: number): Promise<void> {
  const { context, request } = consultation
  const spend = await context.readSpend(`route/${attempt}-spend`, { under: `route/${attempt}` })
  const sessions = choice.agents.map((agent, index) => ({
    agent,
    session_id: context.sessionId(specialistKey(attempt, index), agent),
  }))
  context.emit(`routed/${attempt}`, 'consult:routed', {
    collaboration_id: request.collaboration_id,
    agent: choice.agent,
    ...(sessions.length > 1 ? { agents: choice.agents, sessions } : undefined),
    consultation_reason: choice.reason,
    rationale: choice.rationale,
    confidence: choice.confidence,
    method: choice.method,
    hint: choice.hint,
    session_id: context.sessionId(specialistKey(attempt), choice.agent),
    tokens: spend.input + spend.output,
    cost_usd: spend.usd,
  })
}

/** Asks the chosen specialist; several, if the question spans their fields, at the same time. */
async function askChosen(
  consultation: Consultation,
  choice: SpecialistChoice,
  attempt: number,
): Promise<SpecialistOutcome> {
  const ask = async (agent: string, index: number) => {
    const key = specialistKey(attempt, index)
    const { question, request } = await prepareQuestion(consultation, { choice, agent, key, exchange_number: 1 })
    recordQuestion(consultation, question, consultation.request.question)
    return askSpecialist(consultation, question, request)
  }
  const asked = await Promise.all(choice.agents.map(ask))
  const [first] = asked
  return asked.length === 1 && first ? first : synthesizeAnswers(consultation, asked)
}

/** Confidence below which a person is asked, by `autonomy`. */
const ASK_BELOW = { low: Number.POSITIVE_INFINITY, medium: 0.7, high: 0.3 }

/** Delivers what a specialist said; an answer that needs a person's approval goes to one first. */
export async function deliverOutcome(
  consultation: Consultation,
  outcome: Exclude<SpecialistOutcome, { kind: 'failed' }>,
): Promise<PatternResult> {
  if (outcome.kind === 'timeout') return deliverTimeout(consultation, outcome)
  if (outcome.kind === 'stopped') return deliverFailure(consultation, outcome.session, outcome.errors)
  if (outcome.kind === 'clarification') return deliverClarification(consultation, outcome.agent, outcome.answer)
  const answer = toConsultationAnswer(outcome.agent, outcome.answer)
  return approve(consultation, answer)
}

async function approve(consultation: Consultation, answer: ConsultationAnswer): Promise<PatternResult> {
  const { autonomy } = consultation.config
  const { confidence, consulted_agent } = answer
  // An answer without a stated confidence is not below any threshold.
  if (autonomy !== 'low' && (confidence === undefined || confidence >= ASK_BELOW[autonomy])) {
    return deliverAnswer(consultation, answer)
  }
  return askPerson(consultation, {
    reason: autonomy === 'low' ? 'always' : 'low_confidence',
    root_cause:
      autonomy === 'low'
        ? 'every answer needs the approval of a person (consult.autonomy is low)'
        : `${consulted_agent} is not sure: confidence ${confidence}, and consult.autonomy is ${autonomy}`,
    positions: [{ agent: consulted_agent, answer: answer.response.answer, confidence }],
    proposal: answer,
  })
}
