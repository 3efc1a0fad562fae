import { hash } from 'node:crypto'
import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'

/** A field whose JSON is longer than this is stored apart, once per content and project. */
export const INLINE_BYTES = 4096
/** Up to here a hash costs less than going to another thread for it. */
const HASH_HERE_BYTES = 64 * 1024
export const MAX_EVENT_BYTES = 32 * 1024 * 1024

/** A value stored apart. Its hash is empty until it is known. */
export interface Payload {
  field: string
  bytes: Buffer<ArrayBuffer>
  hash: string
}

/** An event's data as its row holds it: payloads leave a `0` in their place, which keeps the order of the fields. */
export interface Encoded {
  data: string
  payloads: Payload[]
}

/** Field → hash and size of its value, as the row holds it beside the data. */
export type Refs = Record<string, [hash: string, size: number]>

/** Throws `too_large` or, for data that JSON cannot hold, `invalid_input`. */
export function encode(event: Event): Encoded {
  const payloads: Payload[] = []
  const fields = event.data as Record<string, unknown>
  let data = ''
  let size = 0
  for (const field of Object.keys(fields)) {
    const value = toJson(event, fields[field])
    if (value === undefined) continue
    data += `${data === '' ? '{' : ','}${JSON.stringify(field)}:`
    if (value.length * 3 > INLINE_BYTES && Buffer.byteLength(value) > INLINE_BYTES) {
      const bytes = Buffer.from(value)
      size += bytes.length
      if (size > MAX_EVENT_BYTES) throw tooLarge(event)
      payloads.push({ field, bytes, hash: bytes.length > HASH_HERE_BYTES ? '' : hash('sha256', bytes, 'hex') })
      data += '0'
    } else {
      size += value.length
      data += value
    }
  }
  return { data: data === '' ? '{}' : `${data}}`, payloads }
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

export function refsOf(payloads: readonly Payload[]): string | null {
  if (payloads.length === 0) return null
  const pairs = payloads.map(({ field, hash, bytes }) => `${JSON.stringify(field)}:["${hash}",${bytes.length}]`)
  return `{${pairs.join(',')}}`
}

/** What stands where a value was whose blob is gone: the journal stays readable, and says what it lacks. */
export interface Missing {
  $missing: string
  size: number
}

/** The data of an event, its blobs put back in their places. */
export function decode(data: string, refs: string | null, blob: (hash: string) => Uint8Array | undefined): unknown {
  const fields: unknown = JSON.parse(data)
  if (refs === null) return fields
  for (const [field, [hash, size]] of Object.entries(JSON.parse(refs) as Refs)) {
    // Assigning to a field named __proto__ would change the object's nature and lose the value.
    Object.defineProperty(fields, field, {
      value: restore(blob(hash), hash, size),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return fields
}

function restore(bytes: Uint8Array | undefined, hash: string, size: number): unknown {
  const missing: Missing = { $missing: hash, size }
  if (!bytes) return missing
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
  } catch {
    return missing
  }
}
