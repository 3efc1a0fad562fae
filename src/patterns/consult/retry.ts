import type { ErrorRecord } from '../../errors.ts'
import type { Context } from '../../kernel/context.ts'
import { isResumableFailure } from '../../kernel/resumable-failure.ts'

/*
 * Retries of a consultation that failed because a provider was down or a limit was reached.
 * 1. Resume retries the specialists that were asked first. What depends on them has other keys than before.
 * 2. If they fail again, the specialists that were asked after them go on in their sessions: once per round, and nothing they did is repeated.
 */

/** Specialists that are asked for one question, one after the other, before a person is. */
const MAX_ATTEMPTS = 3

/** Specialists that can be asked at once, in one attempt. */
const MAX_SPECIALISTS = 3

/** The key of the request that continues an earlier consultation. */
export const CONTINUED_KEY = 'specialist/continued'

/** A specialist that did not answer. `errors` has `null` where it simply gave no answer, and nothing for one that is not asked again. */
export interface SpecialistFailure {
  agent: string
  problem: string
  errors: readonly (ErrorRecord | null)[]
  /** The errors of sessions in the background whose results were collected. */
  collected?: readonly (ErrorRecord | null)[]
}

/** The errors of the specialists that were asked first, if all specialists failed for a reason outside the run; otherwise none. */
export function outageErrors(failures: readonly SpecialistFailure[]): ErrorRecord[] {
  const counted = failures.filter(({ errors }) => errors.length > 0)
  const isOutside = (error: ErrorRecord | null) => error?.step !== undefined && isResumableFailure(error)
  if (!counted.every(({ errors }) => errors.every(isOutside))) return []
  return (counted[0]?.errors ?? []).filter((error) => error !== null)
}

/** The steps that resume retries besides the first one, which is that of the error itself. */
export function otherSteps(errors: readonly ErrorRecord[]): string[] {
  const [first, ...others] = errors
  return [...new Set(others.flatMap(({ step }) => step ?? []))].filter((step) => step !== first?.step)
}

type RetryContext = Pick<Context, 'earlierWork' | 'supersede'>

/** The key of what is recorded about these requests; another one each time that resume retries them. */
export function keyAfterRetry(context: RetryContext, key: string, requests: readonly string[]): string {
  const { retries } = context.earlierWork(requests)
  return lastKey(context, roundKeys(key, retries))
}

/** The steps of a call that `resume` can retry: those of `consult`, and those that collect sessions in the background. */
const CALL_STEPS = [
  ...['specialist', 'route', 'synthesis', 'cycle-answer'],
  ...Array.from({ length: MAX_SPECIALISTS }, (_, index) => collectKey('session', index)),
]

/** The key of a step about one of the sessions that are collected. */
export function collectKey(step: string, index: number): string {
  return index === 0 ? step : `${step}-${index}`
}

/** The keys under which the failure of a call is recorded: that of this round is the last. */
export function failureKeys(context: Pick<Context, 'earlierWork'>, key: 'failed' | 'error'): string[] {
  return roundKeys(key, context.earlierWork(CALL_STEPS).resumes)
}

/** The key of a failure in this round. It is recorded each time: in between, the specialists were at work. */
export function failureKey(context: RetryContext, key: 'failed' | 'error'): string {
  return lastKey(context, failureKeys(context, key))
}

/** The key of this round, which replaces those of earlier ones. */
function lastKey(context: RetryContext, keys: readonly string[]): string {
  context.supersede(keys.slice(0, -1))
  return keys.at(-1) ?? ''
}

/** The keys of the requests to the specialists of one attempt. */
export function specialistKeys(attempt: number | string, count = MAX_SPECIALISTS): string[] {
  return Array.from({ length: count }, (_, index) => specialistKey(attempt, index))
}

/** The key of the request to one specialist of an attempt. */
export function specialistKey(attempt: number | string, index = 0): string {
  return `specialist/${attempt}${index === 0 ? '' : `-${index}`}`
}

/** One choice of specialists, and how often resume retried those that were asked before them. */
export interface Attempt {
  number: number
  /** The part of its keys that names it; another one in each round. */
  name: string
  round: number
}

/** The attempts of a consultation. After `failed`, or else after the first attempt, they depend on whom resume retries. */
export function attemptsAfterRetry(
  context: RetryContext,
  firstAttempt: number,
  failed: Pick<SpecialistFailure, 'errors'> = { errors: [] },
): Attempt[] {
  const isContinued = failed.errors.length > 0
  const round = context.earlierWork(isContinued ? [CONTINUED_KEY] : specialistKeys(firstAttempt)).retries
  const attempts = Array.from({ length: MAX_ATTEMPTS }, (_, index) => {
    const number = firstAttempt + index
    const ownRound = index === 0 && !isContinued ? 0 : round
    return { number, name: roundKey(number, ownRound), round: ownRound }
  })
  for (const attempt of attempts) supersedeEarlierRounds(context, attempt)
  return attempts
}

/** A specialist in the background answers after all: what was recorded about others does not follow from that. */
export function supersedeAttempts(context: Pick<Context, 'supersede'>, firstAttempt: number): void {
  const numbers = Array.from({ length: MAX_ATTEMPTS }, (_, index) => String(firstAttempt + index))
  context.supersede(numbers.flatMap(attemptKeys))
}

/** The keys of a step in all rounds up to this one. */
export function roundKeys(key: string, round: number): string[] {
  return Array.from({ length: round + 1 }, (_, each) => roundKey(key, each))
}

/** The key of a step in this round of retries. */
export function roundKey(key: number | string, round: number): string {
  return round === 0 ? String(key) : `${key}-retry-${round}`
}

/** What was recorded before the retry does not follow from what is recorded now. */
function supersedeEarlierRounds(context: RetryContext, { number, round }: Attempt): void {
  const names = Array.from({ length: round }, (_, each) => roundKey(number, each))
  context.supersede(names.flatMap(attemptKeys))
}

function attemptKeys(attempt: string): string[] {
  const ends = ['', '-asked-at', '-similar', '-context', '-package', '-question', '-retried', '-response', '-spend']
  return [
    ...[`routed/${attempt}`, `cycle/${attempt}`, `route/${attempt}`, `route/${attempt}-spend`],
    ...specialistKeys(attempt).flatMap((key) => ends.map((end) => key + end)),
  ]
}
