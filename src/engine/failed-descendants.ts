import type { ErrorRecord } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { isResumableFailure } from '../kernel/resumable-failure.ts'
import { BackgroundSessions } from './background-sessions.ts'

/**
 * The steps of sub-agents to retry with a failed run. An agent whose sub-agents failed in an outage, and which then failed itself, has not answered to
 * that: they are taken up again before it goes on. A failure that an agent has answered to is part of its conversation and stays. `isTakenUp` tells
 * whether the run retries a step; with it, the steps are retried that gave its failure to a pattern.
 */
export function failedDescendants(
  events: readonly Event[],
  isTakenUp: (step: string) => boolean = () => true,
): string[] {
  const outcomes = lastOutcomes(events)
  const incomplete = incompleteCalls(events)
  const background = new BackgroundSessions(events, (call) => {
    const error = outcomes.get(call)
    return error !== undefined && isResumableFailure(error) && (incomplete.get(call) ?? []).length === 0
  })
  const isSettled = (call: string) => {
    const error = outcomes.get(call)
    const isRetryable = (error && isResumableFailure(error)) || (incomplete.get(call) ?? []).length > 0
    return outcomes.has(call) && !isRetryable
  }
  const answers = { turns: answeredTurns(events), background, isSettled }
  const isAnswered = (key: string) => isAnsweredAt(key, answers)
  const failed = [...outcomes].flatMap(([key, error]) =>
    error && isResumableFailure(error) && !isAnswered(key) ? key : [],
  )
  const isToolCall = (key: string) => /\/tool\/\d+$/.test(key)
  const requests = failed.filter((key) => !isToolCall(key))
  const calls = failed.filter(isToolCall)
  // A call that says what to retry makes the others anew: a step that nobody takes up would stay open.
  const isLeftOut = (request: string, call: string) => {
    const steps = incomplete.get(call) ?? []
    const retried = [...steps, outcomes.get(call)?.step ?? []].flat()
    return steps.length > 0 && !retried.some((step) => request.startsWith(`${sessionKeyOf(step)}/`))
  }
  const isRetried = (request: string) => {
    if (background.has(sessionKeyOf(request))) return true
    const above = calls.filter((call) => request.startsWith(`${call}/`))
    return above.length > 0 && !above.some((call) => isLeftOut(request, call))
  }
  const retried = requests.filter((request) => isRetried(request) && isTakenUp(request))
  const collected = retried.flatMap((request) => background.collectedSteps(sessionKeyOf(request)))
  const named = [...incomplete.values()].flat().filter((key) => !isAnswered(key) && isTakenUp(key))
  return [...retried, ...collected, ...named]
}

/** The key of the session of a model request. */
export function sessionKeyOf(step: string): string {
  return step.replace(/\/turn\/\d+\/model$/, '')
}

/** The steps that calls with an incomplete result, such as a collaboration without one of its specialists, say to retry. */
function incompleteCalls(events: readonly Event[]): Map<string, readonly string[]> {
  const keys = new Map<string, readonly string[]>()
  for (const event of events) {
    if (isEvent(event, 'tool:post') || isEvent(event, 'tool:error') || isEvent(event, 'session:input'))
      keys.set(event.data.key, event.data.retry_keys ?? [])
  }
  return keys
}

/** The last outcome of each tool call and model request, by its key: its error, also that of a limit, or `undefined` if it succeeded. */
function lastOutcomes(events: readonly Event[]): Map<string, ErrorRecord | undefined> {
  const outcomes = new Map<string, ErrorRecord | undefined>()
  for (const event of events) {
    if (isEvent(event, 'tool:post') || isEvent(event, 'model:end')) outcomes.set(event.data.key, undefined)
    else if (isEvent(event, 'tool:error')) outcomes.set(event.data.key, event.data.detail)
    else if (isEvent(event, 'limit:hit')) outcomes.set(event.data.key, event.data.error)
    else if (isEvent(event, 'model:error') && !event.data.retry) outcomes.set(event.data.key, event.data.error)
  }
  return outcomes
}

/** The highest turn of each session, by its key, with a response. */
function answeredTurns(events: readonly Event[]): Map<string, number> {
  const turns = new Map<string, number>()
  for (const event of events) {
    const [, session, turn] = isEvent(event, 'model:end') ? (MODEL_KEY.exec(event.data.key) ?? []) : []
    if (session !== undefined) turns.set(session, Math.max(turns.get(session) ?? 0, Number(turn)))
  }
  return turns
}

const MODEL_KEY = /^(.+)\/turn\/(\d+)\/model$/
const TURN = /\/turn\/(\d+)\/(tool|background)(?:\/|$)/g

interface Answers {
  /** The highest turn of each session, by its key, with a response. */
  turns: ReadonlyMap<string, number>
  background: BackgroundSessions
  /** True for a tool call with a result that no retry changes. */
  isSettled(call: string): boolean
}

/**
 * True when a session above the step has responded after the turn that the step belongs to. What a background session did is answered to by whoever
 * has collected its result; if nobody has, by whoever answered to the session that started it. `visited` has the background sessions on the way here:
 * two of them may have collected each other.
 */
function isAnsweredAt(key: string, answers: Answers, visited: readonly string[] = []): boolean {
  const { turns, background } = answers
  const session = background.enclosing(key)
  const hasResponded = [...key.matchAll(TURN)].some((match) => {
    const caller = key.slice(0, match.index)
    // Results that are delivered at the end of a caller are the input of the turn itself.
    const turn = Number(match[1]) - (match[2] === 'background' ? 1 : 0)
    return caller.length >= (session?.length ?? 0) && (turns.get(caller) ?? 0) > turn
  })
  if (hasResponded || session === undefined) return hasResponded
  if (background.isCollectedForGood(session)) return true
  if (visited.includes(session)) return false
  const collector = background.collector(session)
  if (collector !== undefined) return isAnsweredAt(collector, answers, [...visited, session])
  const starter = background.starter(session)
  if (starter === undefined) return false
  // The end of the key makes the starter enclose it, if that is a background session, too.
  const end = `${starter}/`
  return background.callsAbove(end).some(answers.isSettled) || isAnsweredAt(end, answers, [...visited, session])
}
