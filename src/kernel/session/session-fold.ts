import type { Event, SessionOpen } from '../event.ts'
import { isEvent } from '../event.ts'
import type { SessionState } from './session-state.ts'
import {
  addCallUsage,
  applyEvent,
  closePendingToolCalls,
  hashConversation,
  newSession,
  UNCOUNTED,
} from './session-state.ts'
import { systemPromptBytes } from './system-prompt.ts'

/*
 * The conversation of the earlier segments of a session, folded once and extended with each segment, so that a turn costs
 * the same at the start of a chat and after thousands of turns.
 * 1. A fold that was extended equals a fold of all its events from scratch. If later events change the meaning of earlier
 *    ones (a model request that is repeated, a segment that goes on from before the newest one), `extendFold` returns `undefined`, and the caller folds from scratch.
 * 2. A fold never changes: extending it and opening a session from it copy its lists. Messages are shared and immutable.
 * 3. A fold does not depend on the opening of a segment: what comes from there (instructions, read-only) is added by
 *    `sessionFrom`.
 */

export interface SessionFold {
  readonly state: SessionState
  readonly eventCount: number
  /** The newest event. */
  readonly last: Position | undefined
  /** The newest `session:open`. */
  readonly lastOpening: SessionOpen | undefined
  /** Model requests with a response. Shared by all extensions: a surplus entry costs a fold from scratch, no more. */
  readonly settledRequests: Set<string>
}

type Position = Pick<Event, 'run_id' | 'seq'>

/** The opening of no segment: see invariant 3. */
const NEUTRAL_OPENING = { agent: { instructions: '' } } as SessionOpen

export function foldEvents(events: readonly Event[]): SessionFold {
  const empty = {
    state: newSession('', NEUTRAL_OPENING),
    eventCount: 0,
    last: undefined,
    lastOpening: undefined,
    settledRequests: new Set<string>(),
  }
  return extendFold(empty, withoutAbandoned(events)) ?? empty
}

/** The events of a session without those after the position that a later segment goes on from: they were cut. */
function withoutAbandoned(events: readonly Event[]): readonly Event[] {
  const kept: Event[] = []
  for (const event of events) {
    const base = isEvent(event, 'session:open') ? event.data.base : undefined
    const goesOnAt = base ? kept.findLastIndex((each) => isAt(each, base)) : -1
    if (goesOnAt !== -1) kept.length = goesOnAt + 1
    kept.push(event)
  }
  return kept
}

function isAt(event: Position, { run_id, seq }: Position): boolean {
  return event.run_id === run_id && event.seq === seq
}

/** The fold with later events, or `undefined` if one of them repeats a model request of the fold, or goes on from before its end. */
export function extendFold(fold: SessionFold, events: readonly Event[]): SessionFold | undefined {
  const { settledRequests } = fold
  const lastBegin = new Map<string, number>()
  let { last } = fold
  for (const event of events) {
    if (isEvent(event, 'session:open') && event.data.base && last && !isAt(last, event.data.base)) return undefined
    last = event
    if (!isEvent(event, 'model:begin')) continue
    if (settledRequests.has(requestId(event))) return undefined
    lastBegin.set(requestId(event), event.seq)
  }
  const state = copyState(fold.state)
  let { lastOpening } = fold
  for (const event of events) {
    if (isEvent(event, 'session:open')) lastOpening = event.data
    if (!isEvent(event, 'model:end')) {
      applyEvent(state, event)
      continue
    }
    settledRequests.add(requestId(event))
    // A response whose request was repeated later (a refusal, after a resume) has a cost but is not in the conversation.
    if ((lastBegin.get(requestId(event)) ?? 0) > event.seq) addCallUsage(state, event.data)
    else applyEvent(state, event)
  }
  hashConversation(state)
  return { state, eventCount: fold.eventCount + events.length, last, lastOpening, settledRequests }
}

/** A session that continues the conversation of the fold in a new segment. */
export function sessionFrom({ state }: SessionFold, id: string, opening: SessionOpen): SessionState {
  const instructions = systemPromptBytes(opening)
  const { tokens, bytes } = state.tokenCount
  const session: SessionState = {
    ...copyState(state),
    id,
    opening,
    bytes: state.bytes + instructions,
    tokenCount: state.tokenCount === UNCOUNTED ? UNCOUNTED : { tokens, bytes: bytes + instructions },
    planMode: state.planMode || opening.read_only === true,
  }
  closePendingToolCalls(session)
  return session
}

function copyState(state: SessionState): SessionState {
  return {
    ...state,
    messages: state.messages.slice(),
    marks: state.marks.slice(),
    unhashed: state.unhashed.slice(),
    toolResults: new Map(state.toolResults),
    backgroundSessions: new Set(state.backgroundSessions),
  }
}

/** Step keys repeat across runs. */
function requestId({ run_id, data }: { run_id: string; data: { key: string } }): string {
  return `${run_id}\n${data.key}`
}
