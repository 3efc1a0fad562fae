/*
 * Invariants
 * 1. Only committed texts are cached. A journal is append-only, so a location stays valid, whoever owns the run now.
 * 2. Eviction costs space in the file, never correctness.
 */

/** A shorter text costs less than a reference to it. */
export const MIN_TEXT_LENGTH = 64
const MAX_CACHED_CHARACTERS = 4 * 1024 * 1024

/** The position of a text: a value slot of an event of the run. */
export interface TextLocation {
  seq: number
  slot: number
}

/** Locations of texts in the journals of active runs: an event that repeats a text stores a reference instead. */
export class BackReferences {
  readonly #runs = new Map<string, Map<string, TextLocation>>()
  #characters = 0

  forRun(run_id: string): ReadonlyMap<string, TextLocation> | undefined {
    return this.#runs.get(run_id)
  }

  add(run_id: string, locations: ReadonlyMap<string, TextLocation>): void {
    if (locations.size === 0) return
    const known = this.#runs.get(run_id) ?? new Map<string, TextLocation>()
    for (const [text, location] of locations) {
      known.set(text, location)
      this.#characters += text.length
    }
    this.#runs.set(run_id, known)
    if (this.#characters > MAX_CACHED_CHARACTERS) this.#clear()
  }

  delete(run_id: string): void {
    for (const text of this.#runs.get(run_id)?.keys() ?? []) this.#characters -= text.length
    this.#runs.delete(run_id)
  }

  #clear(): void {
    this.#runs.clear()
    this.#characters = 0
  }
}
