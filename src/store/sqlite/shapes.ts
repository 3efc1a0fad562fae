import type { KnownShape, Shapes } from './encoding.ts'
import { formOf } from './form.ts'

/** From here on new shapes are not kept any more: someone makes them without end. */
const MOST_SHAPES = 2000
/** How many are tried before an event is looked at as if it were the first of its kind. */
const MOST_TRIED = 12

/** The shapes that events had in this process. A shape is only a way to write: what is kept here cannot be wrong. */
export class RecentShapes implements Shapes {
  readonly #byType = new Map<string, KnownShape[]>()
  readonly #words = new Set<string>()

  of(type: string): readonly KnownShape[] {
    return this.#byType.get(type) ?? []
  }

  admits(word: string, type: string): boolean {
    if (!this.#words.has(word)) {
      if (this.#words.size >= MOST_SHAPES) return false
      this.#words.add(word)
    }
    const others = this.of(type).filter((known) => known.word !== word)
    this.#byType.set(type, [{ word, form: formOf(word.slice(type.length + 1)) }, ...others].slice(0, MOST_TRIED))
    return true
  }
}
