import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'
import type { TextLocation } from './back-references.ts'
import type { EncodedEvent, Payload } from './event-encoder.ts'
import { encodeEvent } from './event-encoder.ts'
import type { Tables } from './tables.ts'

/** Events of one run as they are to be written, in one transaction. */
export interface EncodedBatch {
  events: EncodedEvent[]
  /** Texts that stand in these events. */
  texts: Map<string, TextLocation>
}

/** Encodes events of a run; throws what is wrong with them. */
export function encodeBatch(
  run_id: string,
  events: readonly Event[],
  { templates, backReferences }: Tables,
): EncodedBatch {
  const fresh = new Map<string, TextLocation>()
  const site = { committed: backReferences.forRun(run_id), fresh, templates }
  const encoded = events.map((event) => {
    if (!event.type.isWellFormed() || !(event.session_id ?? '').isWellFormed()) {
      throw new TroupeError('invalid_input', `run ${run_id}: a name with half a character cannot be stored`)
    }
    return encodeEvent(event, site)
  })
  return { events: encoded, texts: fresh }
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
