import { hash } from 'node:crypto'
import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'
import type { TextLocation } from './back-references.ts'
import { MIN_TEXT_LENGTH } from './back-references.ts'
import type { ValueSink } from './record-template.ts'
import { buildTemplate } from './record-template.ts'
import type { TemplateCache } from './template-cache.ts'

/** A value with longer JSON is stored as a blob, once per content and project. */
export const MAX_INLINE_BYTES = 4096
/** A shorter snapshot is stored inline: a blob would cost more. */
const MIN_SNAPSHOT_LENGTH = 128
/** Larger payloads are hashed off the main thread. */
const MAX_SYNC_HASH_BYTES = 64 * 1024
const MAX_TEMPLATE_LENGTH = 2048
export const MAX_EVENT_BYTES = 32 * 1024 * 1024

/** Identifies a value of an event: its slot index in the template, or its field name in an event without one. */
export type Slot = number | string

/** A large value, stored as a blob. The hash is empty until it is computed. */
export interface Payload {
  slot: Slot
  bytes: Buffer<ArrayBuffer>
  hash: string
}

/** A value that repeats across sessions and runs, stored as a blob. */
export interface Snapshot {
  slot: number
  json: string
}

/** A text that an earlier event of the run contains. */
export interface BackReference extends TextLocation {
  target_slot: number
}

/** The columns of an event row. `data` has a `0` for every value that is stored elsewhere. */
export interface EncodedEvent {
  /** The event type, followed by a space and the template if there is one. */
  descriptor: string
  data: string
  payloads: readonly Payload[]
  snapshots: readonly Snapshot[]
  backReferences: readonly BackReference[]
}

export interface EncodingContext {
  /** Locations of texts in committed events. */
  committed: ReadonlyMap<string, TextLocation> | undefined
  /** Locations of texts in earlier events of the same batch. `encodeEvent` adds those of its event. */
  uncommitted: Map<string, TextLocation>
  templates: TemplateCache
}

/** Throws `too_large`, or `invalid_input` for data that JSON cannot represent. */
export function encodeEvent(event: Event, context: EncodingContext): EncodedEvent {
  if (event.type.startsWith('custom:') || event.type.includes(' ')) return encodeObject(event)
  for (const { descriptor, template } of context.templates.forType(event.type)) {
    const values = new ValueEncoder(event, context)
    if (template.match(event.data, values)) return values.finish(descriptor)
  }
  const values = new ValueEncoder(event, context)
  const template = buildTemplate(event.type, event.data, values)
  if (template === undefined || template.length > MAX_TEMPLATE_LENGTH) return encodeObject(event)
  const descriptor = `${event.type} ${template}`
  return context.templates.add(descriptor, event.type) ? values.finish(descriptor) : encodeObject(event)
}

/** Shared empty list: most events have no payloads, snapshots or back-references. */
const NONE: never[] = []

/** Encodes the slot values of one event. */
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

  constructor(event: Event, context: EncodingContext) {
    this.#event = event
    this.#context = context
  }

  text(value: string): void {
    if (value.length < MIN_TEXT_LENGTH) {
      this.#put(JSON.stringify(value))
      return
    }
    const location = this.#context.uncommitted.get(value) ?? this.#context.committed?.get(value)
    if (location) {
      this.#backReferences = [...this.#backReferences, { ...location, target_slot: this.#count }]
      this.#put('0')
      return
    }
    const slot = this.#count
    if (this.#putInline(toJson(this.#event, value) ?? '')) this.#texts = [...this.#texts, [value, slot]]
  }

  number(value: number): void {
    this.#put(Number.isFinite(value) ? String(value) : 'null')
  }

  json(value: unknown): boolean {
    const json = toJson(this.#event, value)
    if (json === undefined) return false
    this.#putInline(json)
    return true
  }

  snapshot(value: unknown): boolean {
    const json = toJson(this.#event, value)
    if (json === undefined) return false
    if (json.length < MIN_SNAPSHOT_LENGTH || isLong(json)) this.#putInline(json)
    else {
      this.#snapshots = [...this.#snapshots, { slot: this.#count, json }]
      this.#put('0')
    }
    return true
  }

  isWorthSplitting(value: object): boolean {
    return Object.values(value).some((field) => typeof field === 'string' && field.length >= MIN_TEXT_LENGTH)
  }

  /** Returns the encoded event and publishes its texts for back-references. */
  finish(descriptor: string): EncodedEvent {
    for (const [text, slot] of this.#texts) this.#context.uncommitted.set(text, { seq: this.#event.seq, slot })
    // Hash only now: a template that does not match would have hashed in vain.
    const payloads = this.#oversized.map(([slot, json]) => toPayload(slot, json))
    return {
      descriptor,
      data: `[${this.#data}]`,
      payloads,
      snapshots: this.#snapshots,
      backReferences: this.#backReferences,
    }
  }

  /** Adds a value, as a blob if it is long. Returns true if it was added inline. */
  #putInline(json: string): boolean {
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

/** Encodes data without a template, as a JSON object. */
function encodeObject(event: Event): EncodedEvent {
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
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw new TroupeError('invalid_input', `event ${event.seq} (${event.type}) cannot be stored as JSON: ${reason}`)
  }
}

function tooLargeError({ seq, type }: Event): TroupeError {
  return new TroupeError('too_large', `event ${seq} (${type}) is larger than ${MAX_EVENT_BYTES / 1024 / 1024} MB`, {
    hint: 'store large content elsewhere, for example as a file, and put its address into the event',
  })
}

/** Hashes large payloads off the main thread. */
export async function hashPayloads(payloads: readonly Payload[]): Promise<void> {
  await Promise.all(
    payloads.map(async (payload) => {
      const digest = await crypto.subtle.digest('SHA-256', payload.bytes)
      payload.hash = Buffer.from(digest).toString('hex')
    }),
  )
}
