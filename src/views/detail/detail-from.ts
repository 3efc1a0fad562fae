import type { Event } from '../../kernel/event.ts'
import { redactJson } from '../../kernel/redactor.ts'
import type { TimelineRef } from '../timeline/timeline.ts'
import { boundedValue } from './bounded-value.ts'
import { callDetail } from './call-detail.ts'
import type { Detail } from './detail.ts'
import type { DetailOptions, DetailScope } from './detail-scope.ts'
import { eventDetail } from './event-detail.ts'
import { turnDetail } from './turn-detail.ts'

/*
 * The detail of any place in a run.
 * 1. It never throws for what a journal has, known or not: JSON is the fallback.
 * 2. Secrets are removed before a text is cut, so that no half of one is left.
 * 3. Control characters stay: the page makes them visible.
 */

type MakeDetail = (scope: DetailScope, id: string) => Detail | undefined

const DETAILS: Partial<Readonly<Record<TimelineRef['kind'], MakeDetail>>> = {
  turn: turnDetail,
  call: callDetail,
  event: eventDetail,
}

/** The detail of a place, from the journal of its run; `undefined` if the run has no such place. */
export function detailFrom(
  events: readonly Event[],
  ref: TimelineRef,
  options: DetailOptions = {},
): Detail | undefined {
  const { redactor } = options
  const redact = <Value>(value: Value) => (redactor ? (redactJson(redactor, value) as Value) : value)
  const scope: DetailScope = { events, options, redact }
  const make = Object.hasOwn(DETAILS, ref.kind) ? DETAILS[ref.kind] : undefined
  const detail = make?.(scope, ref.id)
  return detail && boundedValue(redact({ ...detail, ref: { kind: ref.kind, id: ref.id } }))
}
