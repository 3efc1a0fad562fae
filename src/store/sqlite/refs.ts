import type { Encoded, Slot } from './encoding.ts'

/** A value that stands in an earlier event of the run. */
export type RepeatRef = [slot: number, seq: number, at: number]
/** A value that stands in a blob: by the hash of its content, with its size, or by the number of a snapshot. */
export type BlobRef = [slot: Slot, hash: string, size: number] | [slot: number, blob: number]
export type Ref = RepeatRef | BlobRef

/** What a row says about values that stand elsewhere; `blobs` are the numbers of the event's snapshots. */
export function refsOf({ payloads, snapshots, repeats }: Encoded, blobs: readonly number[]): string | null {
  if (payloads.length + snapshots.length + repeats.length === 0) return null
  const refs: Ref[] = [
    ...payloads.map(({ slot, hash, bytes }): Ref => [slot, hash, bytes.length]),
    ...snapshots.map(({ slot }, index): Ref => [slot, blobs[index] ?? 0]),
    ...repeats.map(({ as, seq, slot }): Ref => [as, seq, slot]),
  ]
  return JSON.stringify(refs)
}

export function readRefs(refs: string | null): Ref[] {
  return refs === null ? [] : (JSON.parse(refs) as Ref[])
}

export function isRepeat(ref: Ref): ref is RepeatRef {
  return ref.length === 3 && typeof ref[1] === 'number'
}

/** What stands where a value was that is gone: the journal stays readable, and says what it lacks. */
export interface Missing {
  $missing: string
  size: number
}

export function missing(ref: Ref): Missing {
  const [, what, size = 0] = ref
  if (isRepeat(ref)) return { $missing: `event ${what}`, size: 0 }
  return { $missing: typeof what === 'string' ? what : `blob ${what}`, size }
}
