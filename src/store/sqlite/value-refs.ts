import type { EncodedEvent, Slot } from './event-encoder.ts'

/** A reference to a slot of an earlier event of the run. */
export type BackRef = [slot: number, seq: number, targetSlot: number]
/** A reference to a blob: a payload by hash and size, or a snapshot by its blob id. */
export type BlobRef = [slot: Slot, hash: string, size: number] | [slot: number, blob: number]
export type ValueRef = BackRef | BlobRef

/** Formats the `refs` column; `snapshotIds` are the blob ids of the event's snapshots. */
export function formatRefs(
  { payloads, snapshots, backReferences }: EncodedEvent,
  snapshotIds: readonly number[],
): string | null {
  if (payloads.length + snapshots.length + backReferences.length === 0) return null
  const refs: ValueRef[] = [
    ...payloads.map(({ slot, hash, bytes }): ValueRef => [slot, hash, bytes.length]),
    ...snapshots.map(({ slot }, index): ValueRef => [slot, snapshotIds[index] ?? 0]),
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

/** Takes the place of a value whose blob or event is missing, so that the journal stays readable. */
export interface MissingValue {
  $missing: string
  size: number
}

export function missingValue(ref: ValueRef): MissingValue {
  const [, target, size = 0] = ref
  if (isBackRef(ref)) return { $missing: `event ${target}`, size: 0 }
  return { $missing: typeof target === 'string' ? target : `blob ${target}`, size }
}
