import { hash } from 'node:crypto'

/*
 * The hash chain of a journal finds accidents: a damaged row, a lost one, an edit by hand. It is no signature: whoever edits a row can compute
 * the hashes again.
 * 1. The hash of an event covers its stored text, in which long values are represented by the hash of their content.
 * 2. It covers the hash of the event before it, so that events cannot change places.
 */

/** 96 bits of SHA-256. */
const HASH_CHARACTERS = 16

/** An event as it is stored. `hash` is `null` in stores that an older version wrote. */
export interface ChainedRecord {
  seq: number
  at: number
  type: string
  session_id: string | null
  data: string
  hash: string | null
}

/** The hash of an event. `previous` is that of the event before, or the id of the run. */
export function chainHash(previous: string, { seq, at, type, session_id, data }: Omit<ChainedRecord, 'hash'>): string {
  const text = `${previous}\n${seq}\n${at}\n${type}\n${session_id ?? ''}\n${data}`
  return hash('sha256', text, 'base64url').slice(0, HASH_CHARACTERS)
}

/** Follows the events of a run in order, and says what is wrong with each of them. */
export class ChainCheck {
  /** `undefined` after a gap: the next event cannot be checked. */
  #previous: string | undefined
  #seq = 0
  #hasHashes = false

  constructor(run_id: string) {
    this.#previous = run_id
  }

  /** The problems up to this event, each with the `seq` that it is about. */
  next(record: ChainedRecord): { seq: number; rule: 'sequence' | 'chain'; problem: string }[] {
    const { seq, hash: stored } = record
    const missing = seq - this.#seq - 1
    const gap =
      missing > 0
        ? [{ seq: this.#seq + 1, rule: 'sequence' as const, problem: missingEvents(this.#seq + 1, seq - 1) }]
        : []
    const previous = gap.length > 0 ? undefined : this.#previous
    const problem = this.#hashProblem(record, previous)
    this.#seq = seq
    if (stored !== null) {
      this.#hasHashes = true
      this.#previous = stored
    }
    return problem === undefined ? gap : [...gap, { seq, rule: 'chain', problem }]
  }

  #hashProblem(record: ChainedRecord, previous: string | undefined): string | undefined {
    if (record.hash === null)
      return this.#hasHashes ? `event ${record.seq} was not written by Troupe: it has no hash` : undefined
    if (previous === undefined || chainHash(previous, record) === record.hash) return undefined
    return `event ${record.seq} (${record.type}) or its place in the journal was changed after it was written`
  }
}

function missingEvents(first: number, last: number): string {
  return first === last ? `event ${first} is missing` : `events ${first} to ${last} are missing`
}
