import type { EncodedEvent, Slot } from './event-encoder.ts'

/** A value that stands in an earlier event of the run. */
export type BackRef = [slot: number, seq: number, at: number]
/** A value that stands in a blob: by the hash of its content, with its size, or by the number of a snapshot. */
export type BlobRef = [slot: Slot, hash: string, size: number] | [slot: number, blob: number]
export type ValueRef = BackRef | BlobRef

/** What a row says about values that stand elsewhere; `blobs` are the numbers of the event's snapshots. */
export function formatRefs(
  { payloads, snapshots, backReferences }: EncodedEvent,
  blobs: readonly number[],
): string | null {
  if (payloads.length + snapshots.length + backReferences.length === 0) return null
  const refs: ValueRef[] = [
    ...payloads.map(({ slot, hash, bytes }): ValueRef => [slot, hash, bytes.length]),
    ...snapshots.map(({ slot }, index): ValueRef => [slot, blobs[index] ?? 0]),
    ...backReferences.map(({ target_slot, seq, slot }): ValueRef => [target_slot, seq, slot]),
  ]
  return JSON.stringify(refs)
}

export function parseRefs(refs: string | null): ValueRef[] {
  return refs === null ? [] : (JSON.parse(refs) as ValueRef[])
}

export function isBackRef(ref: ValueRef): ref is BackRef {
  return ref.length === 3 && typeof ref[1] === 'number'
}

/** What stands where a value was that is gone: the journal stays readable, and says what it lacks. */
export interface MissingValue {
  $missing: string
  size: number
}

export function missingValue(ref: ValueRef): MissingValue {
  const [, what, size = 0] = ref
  if (isBackRef(ref)) return { $missing: `event ${what}`, size: 0 }
  return { $missing: typeof what === 'string' ? what : `blob ${what}`, size }
}
