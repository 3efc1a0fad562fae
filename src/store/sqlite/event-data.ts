import { hash } from 'node:crypto'
import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'

/*
 * The `data` of an event as JSON text. Long values are stored as blobs, once per content and project (content
 * addressing); a marker `{"$blob": hash, "size": bytes}` takes their place.
 * 1. Every `$blob` in the stored text is a marker: data that contains a field of this name is stored as a blob itself.
 * 2. The content of a blob is JSON without markers.
 */

/** A text with this many characters is stored as a blob: conversations repeat their texts in several events. */
const MIN_BLOB_TEXT = 512
/** Objects that repeat in every run or session, and the size from which a blob is smaller than a copy. */
const REPEATED_FIELDS: ReadonlySet<string> = new Set(['agent', 'tools', 'limits', 'needs'])
const MIN_REPEATED_LENGTH = 128
/** A field of the data with longer JSON is stored as a blob as a whole, unless it contains a file. */
const MAX_INLINE_BYTES = 4096
/** A text of this length is taken for a file: always a blob of its own, so that it is stored once whatever stands around it. */
const MIN_FILE_TEXT = 16 * 1024
const MAX_EVENT_BYTES = 32 * 1024 * 1024
/** 144 bits of SHA-256. */
const HASH_CHARACTERS = 24

export interface Blob {
  hash: string
  content: string
}

export interface EncodedData {
  data: string
  blobs: readonly Blob[]
}

export interface BlobMarker {
  $blob: string
  size: number
}

/** Takes the place of a value whose blob is missing or damaged, so that the journal stays readable. */
export interface MissingValue {
  $missing: string
  size: number
}

const NO_BLOBS: readonly Blob[] = []

/** Throws `too_large`, or `invalid_input` for data that cannot be stored. */
export function encodeEvent(event: Event): EncodedData {
  if (!event.type.isWellFormed() || !(event.session_id ?? '').isWellFormed()) {
    throw new TroupeError(
      'invalid_input',
      `run ${event.run_id}: an event type or session id contains a lone surrogate, which cannot be stored`,
      { hint: 'remove it from `type` or `session_id`' },
    )
  }
  const isWhole = isMarker(event.data) || Array.isArray(event.data)
  const blobs: Blob[] = []
  if (!isWhole && hasRepeatedField(event.data)) return { data: encodeFields(event, blobs), blobs }
  const json = toJson(event, event.data) ?? '{}'
  if (json.length > MAX_EVENT_BYTES) throw tooLargeError(event)
  if (isInline(json)) return { data: json, blobs: NO_BLOBS }
  return { data: isWhole ? toMarkerJson(json, blobs) : encodeFields(event, blobs), blobs }
}

function encodeFields(event: Event, blobs: Blob[]): string {
  let data = ''
  let length = 0
  for (const [name, value] of Object.entries(event.data)) {
    const json = toJson(event, value)
    if (json === undefined) continue
    length += json.length
    if (length > MAX_EVENT_BYTES) throw tooLargeError(event)
    data += `${data === '' ? '' : ','}${JSON.stringify(name)}:${encodeField(name, { value, json }, blobs)}`
  }
  return `{${data}}`
}

function encodeField(name: string, { value, json }: { value: unknown; json: string }, blobs: Blob[]): string {
  if (REPEATED_FIELDS.has(name) && json.length >= MIN_REPEATED_LENGTH) return toMarkerJson(json, blobs)
  return encodeValue({ value, json }, blobs)
}

function encodeValue({ value, json }: { value: unknown; json: string }, blobs: Blob[]): string {
  if (isInline(json)) return json
  const inner: Blob[] = []
  const text = JSON.stringify(value, (_key, part: unknown) => {
    const isLong = typeof part === 'string' && part.length >= MIN_BLOB_TEXT
    return isLong || isMarker(part) ? toMarker(JSON.stringify(part), inner) : part
  })
  if (Buffer.byteLength(text) <= MAX_INLINE_BYTES) {
    blobs.push(...inner)
    return text
  }
  return inner.some(({ content }) => content.length >= MIN_FILE_TEXT)
    ? encodeParts(JSON.parse(json), blobs)
    : toMarkerJson(json, blobs)
}

function encodeParts(value: object, blobs: Blob[]): string {
  const encodePart = (part: unknown) => encodeValue({ value: part, json: JSON.stringify(part) }, blobs)
  if (Array.isArray(value)) return `[${value.map(encodePart).join()}]`
  const fields = Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}:${encodePart(part)}`)
  return `{${fields.join()}}`
}

/** The body of a command; only one with a file, or with a field `$blob`, needs blobs. */
export function encodeCommand(body: object): EncodedData {
  const json = JSON.stringify(body)
  if (json.length > MAX_EVENT_BYTES) {
    throw new TroupeError('too_large', `the command is larger than ${MAX_EVENT_BYTES / 1024 / 1024} MB`, {
      hint: 'send fewer or smaller `attachments`',
    })
  }
  if (json.length < MIN_FILE_TEXT && !json.includes('"$blob"')) return { data: json, blobs: NO_BLOBS }
  const blobs: Blob[] = []
  return { data: encodeParts(JSON.parse(json), blobs), blobs }
}

function isInline(json: string): boolean {
  return json.length < MIN_BLOB_TEXT && !json.includes('"$blob"')
}

function hasRepeatedField(data: object): boolean {
  for (const name of REPEATED_FIELDS) if (Object.hasOwn(data, name)) return true
  return false
}

function isMarker(value: unknown): value is BlobMarker {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, '$blob')
}

function toMarker(content: string, blobs: Blob[]): BlobMarker {
  const blob = { hash: contentHash(content), content }
  blobs.push(blob)
  return { $blob: blob.hash, size: Buffer.byteLength(content) }
}

function toMarkerJson(content: string, blobs: Blob[]): string {
  return JSON.stringify(toMarker(content, blobs))
}

/** The address of a blob. */
export function contentHash(content: string): string {
  return hash('sha256', content, 'base64url').slice(0, HASH_CHARACTERS)
}

/** Reverses `encodeEvent`. `load` returns the content of a blob. */
export function decodeData(data: string, load: (marker: BlobMarker, field: string) => unknown): unknown {
  const value: unknown = JSON.parse(data)
  return data.includes('"$blob"') ? restoreBlobs(value, '', load) : value
}

/** Puts the values of markers in place, in the value itself. A reviver of `JSON.parse` would call back for every field. */
function restoreBlobs(value: unknown, field: string, load: (marker: BlobMarker, field: string) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (isMarker(value)) return load(value, field)
  const fields = value as Record<string, unknown>
  for (const name of Object.keys(fields)) {
    const part = fields[name]
    if (typeof part === 'object' && part !== null) setField(fields, name, restoreBlobs(part, name, load))
  }
  return value
}

/** Assigning a field named `__proto__` would set the prototype. */
function setField(fields: Record<string, unknown>, name: string, value: unknown): void {
  if (fields[name] === value) return
  if (name !== '__proto__') fields[name] = value
  else Object.defineProperty(fields, name, { value, writable: true, enumerable: true, configurable: true })
}

/** The markers in stored data, with their paths. */
export function* blobMarkers(value: unknown, path = ''): Iterable<{ marker: BlobMarker; path: string }> {
  if (typeof value !== 'object' || value === null) return
  if (isMarker(value)) {
    yield { marker: value, path: path === '' ? 'data' : path }
    return
  }
  for (const [name, part] of Object.entries(value)) {
    const isIndex = Array.isArray(value)
    yield* blobMarkers(part, isIndex ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`)
  }
}

function toJson(event: Event, value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (thrown) {
    if (thrown instanceof RangeError) throw tooLargeError(event)
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw new TroupeError('invalid_input', `event ${event.seq} (${event.type}) cannot be stored as JSON: ${reason}`, {
      hint: 'put only JSON values into `data` of an event',
    })
  }
}

function tooLargeError({ seq, type }: Event): TroupeError {
  return new TroupeError('too_large', `event ${seq} (${type}) is larger than ${MAX_EVENT_BYTES / 1024 / 1024} MB`, {
    hint: 'store large content elsewhere, for example as a file, and put its address into the event',
  })
}
