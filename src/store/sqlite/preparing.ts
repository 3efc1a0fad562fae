import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'
import type { Encoded, Payload } from './encoding.ts'
import { encode } from './encoding.ts'
import type { Tables } from './tables.ts'
import type { Place } from './texts.ts'

/** Events of one run as they are to be written, in one transaction. */
export interface Prepared {
  encoded: Encoded[]
  /** Texts that stand in these events. */
  texts: Map<string, Place>
}

/** Encodes events of a run; throws what is wrong with them. */
export function prepare(run_id: string, events: readonly Event[], { shapes, texts }: Tables): Prepared {
  const fresh = new Map<string, Place>()
  const site = { known: texts.of(run_id), fresh, shapes }
  const encoded = events.map((event) => {
    if (!event.type.isWellFormed() || !(event.session_id ?? '').isWellFormed()) {
      throw new TroupeError('invalid_input', `run ${run_id}: a name with half a character cannot be stored`)
    }
    return encode(event, site)
  })
  return { encoded, texts: fresh }
}

export function unhashedIn({ encoded }: Prepared): Payload[] {
  return encoded.flatMap(({ payloads }) => payloads.filter(({ hash }) => hash === ''))
}

export function bytesOf({ encoded }: Prepared): number {
  let bytes = 0
  for (const { data, payloads } of encoded) {
    bytes += data.length
    for (const payload of payloads) bytes += payload.bytes.length
  }
  return bytes
}
