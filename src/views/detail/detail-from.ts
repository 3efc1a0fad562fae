import type { Event } from '../../kernel/event.ts'
import type { TimelineRef } from '../timeline/timeline.ts'
import { agentDetail } from './agent-detail.ts'
import { boundedValue } from './bounded-value.ts'
import { callDetail } from './call-detail.ts'
import type { Detail } from './detail.ts'
import { createDetailCache } from './detail-cache.ts'
import type { DetailOptions, DetailScope } from './detail-scope.ts'
import { eventDetail } from './event-detail.ts'
import { gateDetail } from './gate-detail.ts'
import { handoffDetail, messageDetail, voteDetail } from './pattern-detail.ts'
import { delegationDetail, sessionDetail } from './session-detail.ts'
import { turnDetail } from './turn-detail.ts'

/*
 * The detail of any place in a run.
 * 1. It never throws for what a journal has, known or not: JSON is the fallback.
 * 2. Secrets are removed before a text is cut, so that no half of one is left.
 * 3. Control characters stay: the page makes them visible.
 */

type MakeDetail = (scope: DetailScope, id: string) => Detail | undefined

const DETAILS: Readonly<Record<TimelineRef['kind'], MakeDetail>> = {
  agent: agentDetail,
  session: sessionDetail,
  turn: turnDetail,
  call: callDetail,
  gate: gateDetail,
  message: messageDetail,
  delegation: delegationDetail,
  handoff: handoffDetail,
  vote: voteDetail,
  event: eventDetail,
}

/** The kinds of places that have a detail. */
export const DETAIL_KINDS: readonly string[] = Object.keys(DETAILS)

/** The detail of a place, from the journal of its run; `undefined` if the run has no such place. */
export function detailFrom(
  events: readonly Event[],
  ref: TimelineRef,
  options: DetailOptions = {},
): Detail | undefined {
  const { views, prices, redactor } = options
  const cache =
    options.cache ??
    createDetailCache(events, { ...(views ? { views } : undefined), ...(prices ? { prices } : undefined) }, redactor)
  const { model, redact } = cache
  const scope: DetailScope = { events, options, cache, redact, model, timeline: () => model().tables }
  const make = Object.hasOwn(DETAILS, ref.kind) ? DETAILS[ref.kind] : undefined
  const detail = make && makeDetail(make, scope, ref)
  return detail && boundedValue(redact({ ...detail, ref: { kind: ref.kind, id: ref.id } }), cache.extents)
}

function makeDetail(make: MakeDetail, scope: DetailScope, ref: TimelineRef): Detail | undefined {
  try {
    // A row of a step that was tried again has the id of the first with `#` and a number.
    return make(scope, ref.id) ?? make(scope, ref.id.replace(/#\d+$/, ''))
  } catch {
    return rawDetail(scope, ref)
  }
}

const RAW_EVENTS = 100

/** The events of a place that cannot be interpreted: written by another version, or damaged. */
function rawDetail({ events, redact }: DetailScope, ref: TimelineRef): Detail | undefined {
  const found = events.filter(({ seq, session_id, data }) => {
    const { key = '', gate_id } = (data ?? {}) as { key?: unknown; gate_id?: unknown }
    const ids = [String(seq), session_id, gate_id, key]
    return ids.includes(ref.id) || String(key).startsWith(`${ref.id}/`)
  })
  if (found.length === 0) return undefined
  const json = found.slice(0, RAW_EVENTS)
  const note = 'these events are not understood by this version; shown as JSON'
  return {
    ref,
    kind: ref.kind,
    title: ref.id,
    ...{ from: null, to: null, state: '', facts: [] },
    sections: [{ title: 'Events', note, blocks: [{ kind: 'json', value: redact(json) }] }],
    json,
  }
}
