import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'
import type { TextLocation } from './back-references.ts'
import type { EncodedEvent, Payload } from './event-encoder.ts'
import { encodeEvent } from './event-encoder.ts'
import type { Tables } from './tables.ts'

/** The encoded events of one append. */
export interface EncodedBatch {
  events: EncodedEvent[]
  /** Locations of the texts in these events, for back-references. */
  texts: Map<string, TextLocation>
}

export function encodeBatch(
  run_id: string,
  events: readonly Event[],
  { templates, backReferences }: Tables,
): EncodedBatch {
  const texts = new Map<string, TextLocation>()
  const context = { committed: backReferences.forRun(run_id), uncommitted: texts, templates }
  const encoded = events.map((event) => {
    if (!event.type.isWellFormed() || !(event.session_id ?? '').isWellFormed()) {
      throw new TroupeError(
        'invalid_input',
        `run ${run_id}: an event type or session id contains a lone surrogate, which cannot be stored`,
      )
    }
    return encodeEvent(event, context)
  })
  return { events: encoded, texts }
}

export function unhashedPayloads({ events }: EncodedBatch): Payload[] {
  return events.flatMap(({ payloads }) => payloads.filter(({ hash }) => hash === ''))
}

export function batchBytes({ events }: EncodedBatch): number {
  let bytes = 0
  for (const { data, payloads } of events) {
    bytes += data.length
    for (const payload of payloads) bytes += payload.bytes.length
  }
  return bytes
}
