import type { Event, EventOf, SessionOpen } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { Message } from '../../kernel/model.ts'
import { extendFold, foldEvents, sessionFrom } from '../../kernel/session/session-fold.ts'
import type { SessionState } from '../../kernel/session/session-state.ts'
import { inputHash, newSession } from '../../kernel/session/session-state.ts'
import { systemPrompt } from '../../kernel/session/system-prompt.ts'
import type { Thread } from '../../kernel/thread.ts'
import type { DetailCache } from './detail-cache.ts'
import { eventsOfSession, eventsWithKey } from './event-index.ts'

/*
 * The model request of a turn, from the journal: the same fold that the session loop and a resumed run use, up to the moment at which
 * the request was sent. `input_hash` of `model:begin` proves that it is the conversation that was sent.
 */

export interface SentRequestView {
  begin: EventOf<'model:begin'>
  opening: SessionOpen
  system: string
  messages: readonly Message[]
  /** Messages of the shared conversation before them that the journal does not have. */
  missing_messages: number
  /** The recorded hash is that of these messages. */
  verified: boolean
  /** A hook changed the request. */
  changed_by_hook: boolean
}

export interface RequestSources {
  /** The events of the session in earlier runs, which this run resumed. */
  earlier?: readonly Event[]
  /** The shared conversation that a session began with, if its pattern can tell. */
  thread?(open: EventOf<'session:open'>): Thread | undefined
  /** Conversations that are known already, to be continued. */
  conversations?: DetailCache['conversations']
}

/** The request that a `model:begin` sent; `undefined` if the journal lacks the opening of its session. */
export function recordedRequest(
  events: readonly Event[],
  begin: EventOf<'model:begin'>,
  sources: RequestSources = {},
): SentRequestView | undefined {
  const own = eventsOfSession(events, begin.session_id).filter(({ seq }) => seq <= begin.seq)
  const opens = own.filter((event) => isEvent(event, 'session:open'))
  const segment = opens.at(-1)?.data.segment
  // After a crash a segment is opened again: it began with the first opening.
  const open = opens.find(({ data }) => data.segment === segment)
  if (!open) return undefined
  const thread = open.data.thread && sources.thread?.(open)
  const state = conversationAt(own, open, { ...sources, thread })
  const hooks = hookChanges(events, begin)
  return {
    begin,
    opening: open.data,
    system: hooks?.system ?? systemPrompt(open.data),
    messages: hooks?.messages ?? state.messages,
    missing_messages: thread || hooks?.messages ? 0 : (open.data.thread?.length ?? 0),
    verified: inputHash(state, begin.data.model) === begin.data.input_hash,
    changed_by_hook: hooks !== undefined,
  }
}

function conversationAt(
  own: readonly Event[],
  open: EventOf<'session:open'>,
  { earlier = [], thread, conversations }: Omit<RequestSources, 'thread'> & { thread: Thread | undefined },
): SessionState {
  const seq = own.at(-1)?.seq ?? open.seq
  const known = conversations?.get(open)
  // A later request of the segment has the same beginning, unless a request was repeated.
  const extended =
    known && known.seq <= seq
      ? extendFold(
          known.fold,
          own.filter((event) => event.seq > known.seq),
        )
      : undefined
  if (extended) {
    conversations?.set(open, { fold: extended, seq })
    return extended.state
  }
  const id = open.session_id ?? ''
  const before = [...earlier, ...own.filter(({ seq }) => seq <= open.seq)]
  const state = open.data.base
    ? sessionFrom(foldEvents(before), id, open.data)
    : newSession(id, open.data, thread?.hash === open.data.thread?.hash ? thread : undefined)
  const fold = { state, eventCount: 0, last: undefined, lastOpening: open.data, settledRequests: new Set<string>() }
  const segment = own.filter(({ seq }) => seq >= open.seq)
  const whole = extendFold(fold, segment)
  if (whole) conversations?.set(open, { fold: whole, seq })
  return whole?.state ?? state
}

interface HookChanges {
  system?: string
  messages?: readonly Message[]
}

/** The texts that `hooks[].beforeModel` replaced. */
function hookChanges(events: readonly Event[], { data }: EventOf<'model:begin'>): HookChanges | undefined {
  const verdict = eventsWithKey(events, `${data.key}/hooks`).findLast((event) => isEvent(event, 'step:end'))
  if (!isEvent(verdict, 'step:end')) return undefined
  const result = verdict.data.result as { request?: HookChanges } | null
  const { system, messages } = result?.request ?? {}
  if (system === undefined && messages === undefined) return undefined
  return { ...(system === undefined ? undefined : { system }), ...(messages ? { messages } : undefined) }
}
