import type { ErrorRecord } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { isResumableFailure } from '../kernel/resumable-failure.ts'

/**
 * The steps of sub-agents to retry with a failed run. An agent whose sub-agents failed in an outage, and which then failed itself, has not answered to
 * that: they are taken up again before it goes on. A failure that an agent has answered to is part of its conversation and stays.
 */
export function failedDescendants(events: readonly Event[]): string[] {
  const outcomes = lastOutcomes(events)
  const answered = answeredTurns(events)
  const failed = [...outcomes].flatMap(([key, error]) =>
    error && isResumableFailure(error) && !isAnswered(key, answered) ? key : [],
  )
  const isToolCall = (key: string) => /\/tool\/\d+$/.test(key)
  const requests = failed.filter((key) => !isToolCall(key))
  const calls = failed.filter(isToolCall)
  const incomplete = incompleteCalls(events)
  // A call that says what to retry makes the others anew: a step that nobody takes up would stay open.
  const isLeftOut = (request: string, call: string) => {
    const steps = incomplete.get(call) ?? []
    const retried = [...steps, outcomes.get(call)?.step ?? []].flat()
    return steps.length > 0 && !retried.some((step) => request.startsWith(`${sessionKeyOf(step)}/`))
  }
  const isRetried = (request: string) => {
    const above = calls.filter((call) => request.startsWith(`${call}/`))
    return above.length > 0 && !above.some((call) => isLeftOut(request, call))
  }
  return [...requests.filter(isRetried), ...[...incomplete.values()].flat().filter((key) => !isAnswered(key, answered))]
}

/** The key of the session of a model request. */
export function sessionKeyOf(step: string): string {
  return step.replace(/\/turn\/\d+\/model$/, '')
}

/** The steps that calls with an incomplete result, such as a collaboration without one of its specialists, say to retry. */
function incompleteCalls(events: readonly Event[]): Map<string, readonly string[]> {
  const keys = new Map<string, readonly string[]>()
  for (const event of events) {
    if (isEvent(event, 'tool:post') || isEvent(event, 'tool:error'))
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
const TURN = /\/turn\/(\d+)\/tool\//g

/** True when a session above the step has responded after the turn that the step belongs to. */
function isAnswered(key: string, answered: ReadonlyMap<string, number>): boolean {
  return [...key.matchAll(TURN)].some((match) => {
    const session = key.slice(0, match.index)
    return (answered.get(session) ?? 0) > Number(match[1])
  })
}
