import { hash } from 'node:crypto'
import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'
import type { TextLocation } from './back-references.ts'
import { MIN_TEXT_LENGTH } from './back-references.ts'
import type { CompiledTemplate } from './compiled-template.ts'
import type { ValueSink } from './record-template.ts'
import { buildTemplate } from './record-template.ts'

/** A value whose JSON is longer than this is stored apart, once per content and project. */
export const MAX_INLINE_BYTES = 4096
/** A snapshot that is shorter is not worth a row of its own. */
const MIN_SNAPSHOT_LENGTH = 128
/** Up to here a hash costs less than going to another thread for it. */
const MAX_SYNC_HASH_BYTES = 64 * 1024
const MAX_TEMPLATE_LENGTH = 2048
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
export interface BackReference extends TextLocation {
  target_slot: number
}

/** An event's data as its row holds it: what stands elsewhere leaves a `0` in its place. */
export interface EncodedEvent {
  /** The type, with the shape of its data if it has one. */
  descriptor: string
  data: string
  payloads: readonly Payload[]
  snapshots: readonly Snapshot[]
  backReferences: readonly BackReference[]
}

/** What an event may refer to, and what it adds to that. */
export interface EncodingContext {
  /** Texts that stand in the file. */
  committed: ReadonlyMap<string, TextLocation> | undefined
  /** Texts of the events before this one that are to be written with it; those of this one are added. */
  fresh: Map<string, TextLocation>
  templates: Templates
}

/** The shapes that events of a type had lately. */
export interface Templates {
  forType(type: string): readonly CachedTemplate[]
  /** Whether a new one may be kept. */
  add(word: string, type: string): boolean
}

export interface CachedTemplate {
  descriptor: string
  template: CompiledTemplate
}

/** Throws `too_large` or, for data that JSON cannot hold, `invalid_input`. */
export function encodeEvent(event: Event, site: EncodingContext): EncodedEvent {
  if (event.type.startsWith('custom:') || event.type.includes(' ')) return encodeWhole(event)
  for (const { descriptor, template } of site.templates.forType(event.type)) {
    const values = new ValueEncoder(event, site)
    if (template.match(event.data, values)) return values.finish(descriptor)
  }
  const values = new ValueEncoder(event, site)
  const shape = buildTemplate(event.type, event.data, values)
  if (shape === undefined || shape.length > MAX_TEMPLATE_LENGTH) return encodeWhole(event)
  const word = `${event.type} ${shape}`
  return site.templates.add(word, event.type) ? values.finish(word) : encodeWhole(event)
}

/** Most events have none of most things. */
const NONE: never[] = []

/** Collects what an event has itself. */
class ValueEncoder implements ValueSink {
  #data = ''
  #oversized: [slot: number, json: string][] = NONE
  #snapshots: Snapshot[] = NONE
  #backReferences: BackReference[] = NONE
  readonly #event: Event
  readonly #context: EncodingContext
  #texts: [text: string, slot: number][] = NONE
  #count = 0
  #size = 0

  constructor(event: Event, site: EncodingContext) {
    this.#event = event
    this.#context = site
  }

  text(value: string): void {
    if (value.length < MIN_TEXT_LENGTH) {
      this.#put(JSON.stringify(value))
      return
    }
    const place = this.#context.fresh.get(value) ?? this.#context.committed?.get(value)
    if (place) {
      this.#backReferences = [...this.#backReferences, { ...place, target_slot: this.#count }]
      this.#put('0')
      return
    }
    const slot = this.#count
    if (this.#value(toJson(this.#event, value) ?? '')) this.#texts = [...this.#texts, [value, slot]]
  }

  number(value: number): void {
    this.#put(Number.isFinite(value) ? String(value) : 'null')
  }

  json(value: unknown): boolean {
    const json = toJson(this.#event, value)
    if (json === undefined) return false
    this.#value(json)
    return true
  }

  snapshot(value: unknown): boolean {
    const json = toJson(this.#event, value)
    if (json === undefined) return false
    if (json.length < MIN_SNAPSHOT_LENGTH || isLong(json)) this.#value(json)
    else {
      this.#snapshots = [...this.#snapshots, { slot: this.#count, json }]
      this.#put('0')
    }
    return true
  }

  isWorthSplitting(value: object): boolean {
    return Object.values(value).some((field) => typeof field === 'string' && field.length >= MIN_TEXT_LENGTH)
  }

  /** The event as it is stored; its texts may be referred to from now on. */
  finish(word: string): EncodedEvent {
    for (const [text, slot] of this.#texts) this.#context.fresh.set(text, { seq: this.#event.seq, slot })
    // Not before: a shape that did not fit would have cost a hash.
    const payloads = this.#oversized.map(([slot, json]) => toPayload(slot, json))
    return {
      descriptor: word,
      data: `[${this.#data}]`,
      payloads,
      snapshots: this.#snapshots,
      backReferences: this.#backReferences,
    }
  }

  /** Returns whether the value stands in the event itself. */
  #value(json: string): boolean {
    if (!isLong(json)) {
      this.#put(json)
      return true
    }
    this.#oversized = [...this.#oversized, [this.#count, json]]
    this.#put('0', json.length)
    return false
  }

  #put(json: string, size = json.length): void {
    this.#size += size
    if (this.#size > MAX_EVENT_BYTES) throw tooLargeError(this.#event)
    this.#data += this.#count === 0 ? json : `,${json}`
    this.#count += 1
  }
}

/** The data as it is, field by field. */
function encodeWhole(event: Event): EncodedEvent {
  const payloads: Payload[] = []
  const fields = event.data as Record<string, unknown>
  let data = ''
  let size = 0
  for (const field of Object.keys(fields)) {
    const value = toJson(event, fields[field])
    if (value === undefined) continue
    size += value.length
    if (size > MAX_EVENT_BYTES) throw tooLargeError(event)
    const long = isLong(value)
    if (long) payloads.push(toPayload(field, value))
    data += `${data === '' ? '' : ','}${JSON.stringify(field)}:${long ? '0' : value}`
  }
  return { descriptor: event.type, data: `{${data}}`, payloads, snapshots: NONE, backReferences: NONE }
}

function isLong(json: string): boolean {
  return json.length * 3 > MAX_INLINE_BYTES && Buffer.byteLength(json) > MAX_INLINE_BYTES
}

function toPayload(slot: Slot, json: string): Payload {
  const bytes = Buffer.from(json)
  return { slot, bytes, hash: bytes.length > MAX_SYNC_HASH_BYTES ? '' : hash('sha256', bytes, 'hex') }
}

function toJson(event: Event, value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (thrown) {
    if (thrown instanceof RangeError) throw tooLargeError(event)
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw new TroupeError('invalid_input', `event ${event.seq} (${event.type}) cannot be stored: ${why}`)
  }
}

function tooLargeError({ seq, type }: Event): TroupeError {
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
