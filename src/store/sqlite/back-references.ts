/*
 * Invariants
 * 1. Only what was committed is remembered: a journal only grows, so a text that stood at a place stands there for good,
 *    whoever owns the run now.
 * 2. What is forgotten costs room in the file, nothing else.
 */

/** Shorter texts cost less than saying where they stand. */
export const MIN_TEXT_LENGTH = 64
const MAX_CACHED_CHARACTERS = 4 * 1024 * 1024

/** Which value of which event of a run. */
export interface TextLocation {
  seq: number
  slot: number
}

/** Texts of the runs under way by the place where they stand, so that an event that repeats one can refer to it. */
export class BackReferences {
  readonly #runs = new Map<string, Map<string, TextLocation>>()
  #characters = 0

  forRun(run_id: string): ReadonlyMap<string, TextLocation> | undefined {
    return this.#runs.get(run_id)
  }

  add(run_id: string, places: ReadonlyMap<string, TextLocation>): void {
    if (places.size === 0) return
    const known = this.#runs.get(run_id) ?? new Map<string, TextLocation>()
    for (const [text, place] of places) {
      known.set(text, place)
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
