import { hash } from 'node:crypto'
import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'
import type { Form } from './form.ts'
import type { Slots } from './shape.ts'
import { shapeOf } from './shape.ts'
import type { Place } from './texts.ts'
import { SHORTEST_TEXT } from './texts.ts'

/** A value whose JSON is longer than this is stored apart, once per content and project. */
export const INLINE_BYTES = 4096
/** A snapshot that is shorter is not worth a row of its own. */
const SHORTEST_SNAPSHOT = 128
/** Up to here a hash costs less than going to another thread for it. */
const HASH_HERE_BYTES = 64 * 1024
const LONGEST_SHAPE = 2048
export const MAX_EVENT_BYTES = 32 * 1024 * 1024

/** Which value of an event: its number where the event has a shape, else the name of its field. */
export type Slot = number | string

/** A value stored apart. Its hash is empty until it is known. */
export interface Payload {
  slot: Slot
  bytes: Buffer<ArrayBuffer>
  hash: string
}

/** A value that other events have too, stored apart. */
export interface Snapshot {
  slot: number
  json: string
}

/** A value that stands in an earlier event of the run. */
export interface Repeat extends Place {
  as: number
}

/** An event's data as its row holds it: what stands elsewhere leaves a `0` in its place. */
export interface Encoded {
  /** The type, with the shape of its data if it has one. */
  word: string
  data: string
  payloads: readonly Payload[]
  snapshots: readonly Snapshot[]
  repeats: readonly Repeat[]
}

/** What an event may refer to, and what it adds to that. */
export interface EncodingSite {
  /** Texts that stand in the file. */
  known: ReadonlyMap<string, Place> | undefined
  /** Texts of the events before this one that are to be written with it; those of this one are added. */
  fresh: Map<string, Place>
  shapes: Shapes
}

/** The shapes that events of a type had lately. */
export interface Shapes {
  of(type: string): readonly KnownShape[]
  /** Whether a new one may be kept. */
  admits(word: string, type: string): boolean
}

export interface KnownShape {
  word: string
  form: Form
}

/** Throws `too_large` or, for data that JSON cannot hold, `invalid_input`. */
export function encode(event: Event, site: EncodingSite): Encoded {
  if (event.type.startsWith('custom:') || event.type.includes(' ')) return encodeWhole(event)
  for (const { word, form } of site.shapes.of(event.type)) {
    const values = new Values(event, site)
    if (form.take(event.data, values)) return values.encoded(word)
  }
  const values = new Values(event, site)
  const shape = shapeOf(event.type, event.data, values)
  if (shape === undefined || shape.length > LONGEST_SHAPE) return encodeWhole(event)
  const word = `${event.type} ${shape}`
  return site.shapes.admits(word, event.type) ? values.encoded(word) : encodeWhole(event)
}

/** Most events have none of most things. */
const NONE: never[] = []

/** Collects what an event has itself. */
class Values implements Slots {
  #data = ''
  #long: [slot: number, json: string][] = NONE
  #snapshots: Snapshot[] = NONE
  #repeats: Repeat[] = NONE
  readonly #event: Event
  readonly #site: EncodingSite
  #texts: [text: string, slot: number][] = NONE
  #count = 0
  #size = 0

  constructor(event: Event, site: EncodingSite) {
    this.#event = event
    this.#site = site
  }

  text(value: string): void {
    if (value.length < SHORTEST_TEXT) {
      this.#put(JSON.stringify(value))
      return
    }
    const place = this.#site.fresh.get(value) ?? this.#site.known?.get(value)
    if (place) {
      this.#repeats = [...this.#repeats, { ...place, as: this.#count }]
      this.#put('0')
      return
    }
    const slot = this.#count
    if (this.#value(toJson(this.#event, value) ?? '')) this.#texts = [...this.#texts, [value, slot]]
  }

  number(value: number): void {
    this.#put(Number.isFinite(value) ? String(value) : 'null')
  }

  piece(value: unknown): boolean {
    const json = toJson(this.#event, value)
    if (json === undefined) return false
    this.#value(json)
    return true
  }

  snapshot(value: unknown): boolean {
    const json = toJson(this.#event, value)
    if (json === undefined) return false
    if (json.length < SHORTEST_SNAPSHOT || isLong(json)) this.#value(json)
    else {
      this.#snapshots = [...this.#snapshots, { slot: this.#count, json }]
      this.#put('0')
    }
    return true
  }

  worth(value: object): boolean {
    return Object.values(value).some((field) => typeof field === 'string' && field.length >= SHORTEST_TEXT)
  }

  /** The event as it is stored; its texts may be referred to from now on. */
  encoded(word: string): Encoded {
    for (const [text, slot] of this.#texts) this.#site.fresh.set(text, { seq: this.#event.seq, slot })
    // Not before: a shape that did not fit would have cost a hash.
    const payloads = this.#long.map(([slot, json]) => payloadOf(slot, json))
    return { word, data: `[${this.#data}]`, payloads, snapshots: this.#snapshots, repeats: this.#repeats }
  }

  /** Returns whether the value stands in the event itself. */
  #value(json: string): boolean {
    if (!isLong(json)) {
      this.#put(json)
      return true
    }
    this.#long = [...this.#long, [this.#count, json]]
    this.#put('0', json.length)
    return false
  }

  #put(json: string, size = json.length): void {
    this.#size += size
    if (this.#size > MAX_EVENT_BYTES) throw tooLarge(this.#event)
    this.#data += this.#count === 0 ? json : `,${json}`
    this.#count += 1
  }
}

/** The data as it is, field by field. */
function encodeWhole(event: Event): Encoded {
  const payloads: Payload[] = []
  const fields = event.data as Record<string, unknown>
  let data = ''
  let size = 0
  for (const field of Object.keys(fields)) {
    const value = toJson(event, fields[field])
    if (value === undefined) continue
    size += value.length
    if (size > MAX_EVENT_BYTES) throw tooLarge(event)
    const long = isLong(value)
    if (long) payloads.push(payloadOf(field, value))
    data += `${data === '' ? '' : ','}${JSON.stringify(field)}:${long ? '0' : value}`
  }
  return { word: event.type, data: `{${data}}`, payloads, snapshots: NONE, repeats: NONE }
}

function isLong(json: string): boolean {
  return json.length * 3 > INLINE_BYTES && Buffer.byteLength(json) > INLINE_BYTES
}

function payloadOf(slot: Slot, json: string): Payload {
  const bytes = Buffer.from(json)
  return { slot, bytes, hash: bytes.length > HASH_HERE_BYTES ? '' : hash('sha256', bytes, 'hex') }
}

function toJson(event: Event, value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (thrown) {
    if (thrown instanceof RangeError) throw tooLarge(event)
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw new TroupeError('invalid_input', `event ${event.seq} (${event.type}) cannot be stored: ${why}`)
  }
}

function tooLarge({ seq, type }: Event): TroupeError {
  return new TroupeError('too_large', `event ${seq} (${type}) is larger than ${MAX_EVENT_BYTES / 1024 / 1024} MB`, {
    hint: 'store large content elsewhere and put its address into the event',
  })
}

/** Hashes, off this thread, the payloads that are too large to hash here without being felt. */
export async function hashPayloads(payloads: readonly Payload[]): Promise<void> {
  await Promise.all(
    payloads.map(async (payload) => {
      const digest = await crypto.subtle.digest('SHA-256', payload.bytes)
      payload.hash = Buffer.from(digest).toString('hex')
    }),
  )
}
