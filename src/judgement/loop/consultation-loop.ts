import type { ParsedExchange } from './new-information.ts'
import { findSameAnswer, parseExchange } from './new-information.ts'

/*
 * Loops of consultations, judged on results.
 * 1. The history is one agent's window, oldest first; consultations that ended with a failure of the outside world are no part of it.
 * 2. A loop is a repetition without news: the same question that gets a new answer each time is progress.
 * 3. Every count starts after the last success or answer of a person.
 * 4. A finding names the consultations it rests on, with their texts and similarities.
 */

export type LoopStatus =
  | 'HEALTHY'
  | 'MAKING_PROGRESS'
  | 'IDENTICAL_LOOP'
  | 'CIRCULAR_LOOP'
  | 'ALTERNATION'
  | 'STALL'
  | 'ITERATION_LIMIT'
  | 'TOO_MANY_ACTIVE'

export type ConsultationLoopType =
  | 'identical_questions'
  | 'repeated_answers'
  | 'circular_dependency'
  | 'alternation'
  | 'stall'
  | 'iteration_limit'
  | 'too_many_concurrent'

/** A consultation that a finding rests on. */
export interface LoopEvidence {
  collaboration_id: string
  requesting_agent: string
  specialist_agent: string | null
  question: string
  answer?: string
  /** Of its question to the new one, from 0 to 1. */
  similarity?: number
}

export interface ConsultationFinding {
  type: ConsultationLoopType
  description: string
  evidence: LoopEvidence[]
}

/** Responses to a loop, from the mildest on. */
export type LoopAction = 'continue' | 'nudge' | 'reroute' | 'answer_by_orchestrator' | 'escalate'

export interface LoopJudgement {
  status: LoopStatus
  findings: ConsultationFinding[]
  action: LoopAction
}

/** An earlier consultation of the window. */
export interface PastConsultation {
  collaboration_id: string
  requesting_agent: string
  specialist_agent: string | null
  question: string
  /** `open` until it is answered; `failed`: a provider error, a timeout or a cancellation. */
  state: 'open' | 'answered' | 'failed'
  answer?: string
  /** A person answered it. */
  by_person?: boolean
  /** The rating by the asker, from 1 to 5. */
  rating?: number
  /** Loops that were found when it was requested. */
  loops?: readonly string[]
}

/** How an earlier question compares to the new one. */
export interface QuestionMatch {
  same: boolean
  similarity: number
}

export interface ConsultationLimits {
  max_exchanges_per_collaboration: number
  max_identical_questions: number
  max_active_collaborations_per_agent: number
  escalation_after_loops: number
}

/** A new question, and what its agent asked and was asked before. */
export interface ConsultationWindow {
  requesting_agent: string
  /** Consultations that this agent requested or was asked, oldest first. */
  history: readonly PastConsultation[]
  /** How the questions of the history compare to the new one, by `collaboration_id`. */
  matches: ReadonlyMap<string, QuestionMatch>
  /** Consultations of this agent that wait for an answer. */
  active: readonly PastConsultation[]
}

/** A rating from which on a consultation was a success. */
const GOOD_RATING = 4
/** Moves back and forth, or answers in a row, without anything new. */
const IDLE_ANSWERS = 4
export const MAX_EVIDENCE_CHARACTERS = 500

/** Judges a new question by the window of the agent that asks it. */
export function judgeConsultation(window: ConsultationWindow, limits: ConsultationLimits): LoopJudgement {
  const history = sinceReset(window.history.filter(({ state }) => state !== 'failed'))
  const requested = history.filter(({ requesting_agent }) => requesting_agent === window.requesting_agent)
  const same = requested.filter(({ collaboration_id }) => window.matches.get(collaboration_id)?.same)
  const stuck = findIdenticalQuestions(same, window, limits) ?? findAlternation(history, window) ?? findStall(requested)
  if (stuck) {
    const earlier = (stuck.type === 'identical_questions' ? same : requested).filter(({ loops = [] }) =>
      loops.includes(stuck.type),
    )
    const action = gradedResponse(earlier.length, limits.escalation_after_loops)
    return { status: STATUS[stuck.type], findings: [stuck], action }
  }
  const crowded = findTooManyActive(window, limits)
  // No loop: the question waits for its turn, and the finding is recorded.
  if (crowded) return { status: 'TOO_MANY_ACTIVE', findings: [crowded], action: 'continue' }
  const isBusy = same.length > 0 || requested.length >= limits.max_exchanges_per_collaboration
  return { status: isBusy ? 'MAKING_PROGRESS' : 'HEALTHY', findings: [], action: 'continue' }
}

const STATUS: Readonly<Record<ConsultationLoopType, LoopStatus>> = {
  identical_questions: 'IDENTICAL_LOOP',
  repeated_answers: 'STALL',
  circular_dependency: 'CIRCULAR_LOOP',
  alternation: 'ALTERNATION',
  stall: 'STALL',
  iteration_limit: 'ITERATION_LIMIT',
  too_many_concurrent: 'TOO_MANY_ACTIVE',
}

/** The consultations after the last success or answer of a person. A good rating of an answer that was known is no success. */
function sinceReset(history: readonly PastConsultation[]): readonly PastConsultation[] {
  const news = newsOf(history)
  const reset = history.findLastIndex(
    ({ by_person, rating = 0 }, index) => by_person || (rating >= GOOD_RATING && news[index]),
  )
  return history.slice(reset + 1)
}

/** Whether each consultation brought something new. One that waits for its answer did not, unless it is the first. */
function newsOf(history: readonly PastConsultation[]): boolean[] {
  const earlier: ParsedExchange[] = []
  return history.map(({ question, answer }, index) => {
    if (answer === undefined) return index === 0
    const exchange = parseExchange({ question, answer })
    const isNews = findSameAnswer(exchange, earlier) === undefined
    earlier.push(exchange)
    return isNews
  })
}

/** The question was asked `max_identical_questions` times since something new came back. */
function findIdenticalQuestions(
  same: readonly PastConsultation[],
  { matches }: ConsultationWindow,
  { max_identical_questions }: ConsultationLimits,
): ConsultationFinding | undefined {
  const idle = same.slice(Math.max(0, newsOf(same).lastIndexOf(true)))
  if (idle.length < max_identical_questions) return undefined
  return {
    type: 'identical_questions',
    description: `the question was asked ${times(idle.length)} before, and no new answer came back`,
    evidence: idle.map((past) => toEvidence(past, matches.get(past.collaboration_id)?.similarity)),
  }
}

/** Two agents ask each other in turn, and nothing new comes back. */
function findAlternation(
  history: readonly PastConsultation[],
  { requesting_agent }: ConsultationWindow,
): ConsultationFinding | undefined {
  const last = history.at(-1)
  const partner = last?.requesting_agent === requesting_agent ? last.specialist_agent : last?.requesting_agent
  const between = history.filter((past) => isBetween(past, requesting_agent, partner))
  const news = newsOf(between)
  const moves =
    between.length - 1 - between.findLastIndex((past, index) => news[index] || !isReturn(past, between[index - 1]))
  if (moves < IDLE_ANSWERS) return undefined
  return {
    type: 'alternation',
    description: `${requesting_agent} and ${partner} asked each other ${times(moves)} in turn without a new answer`,
    evidence: between.slice(-moves).map((past) => toEvidence(past)),
  }
}

function isBetween({ requesting_agent: from, specialist_agent: to }: PastConsultation, a: string, b?: string | null) {
  return b != null && a !== b && ((from === a && to === b) || (from === b && to === a))
}

function isReturn(move: PastConsultation, previous: PastConsultation | undefined): boolean {
  return previous !== undefined && previous.requesting_agent === move.specialist_agent
}

/** The latest answers all repeat earlier ones about the same subject, whatever was asked. */
function findStall(requested: readonly PastConsultation[]): ConsultationFinding | undefined {
  const answered = requested.filter(({ state }) => state === 'answered')
  const idle = answered.slice(newsOf(answered).lastIndexOf(true) + 1)
  if (idle.length < IDLE_ANSWERS) return undefined
  return {
    type: new Set(idle.map(({ specialist_agent }) => specialist_agent)).size > 1 ? 'stall' : 'repeated_answers',
    description: `the last ${idle.length} answers brought nothing new`,
    evidence: idle.map((past) => toEvidence(past)),
  }
}

function findTooManyActive(
  { active }: ConsultationWindow,
  { max_active_collaborations_per_agent: max }: ConsultationLimits,
): ConsultationFinding | undefined {
  if (active.length < max) return undefined
  return {
    type: 'too_many_concurrent',
    description: `${active.length} consultations of this agent wait for an answer; \`max_active_collaborations_per_agent\` is ${max}`,
    evidence: active.map((past) => toEvidence(past)),
  }
}

function toEvidence(past: PastConsultation, similarity?: number): LoopEvidence {
  const { collaboration_id, requesting_agent, specialist_agent, question, answer } = past
  return {
    ...{ collaboration_id, requesting_agent, specialist_agent },
    question: question.slice(0, MAX_EVIDENCE_CHARACTERS),
    ...(answer !== undefined && { answer: answer.slice(0, MAX_EVIDENCE_CHARACTERS) }),
    ...(similarity !== undefined && { similarity: Math.round(similarity * 1000) / 1000 }),
  }
}

function times(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`
}

/**
 * The response to one more loop: first a nudge, then another specialist, then a person. `earlierLoops` counts those since the last
 * success or answer of a person; the first of them was the nudge, the others are confirmed.
 */
function gradedResponse(earlierLoops: number, escalationAfterLoops: number): LoopAction {
  if (earlierLoops === 0) return 'nudge'
  return earlierLoops > escalationAfterLoops ? 'escalate' : 'reroute'
}
