import { compileTemplate } from './compiled-template.ts'
import type { CachedTemplate, Templates } from './event-encoder.ts'

/** From here on new shapes are not kept any more: someone makes them without end. */
const MAX_TEMPLATES = 2000
/** How many are tried before an event is looked at as if it were the first of its kind. */
const MAX_TEMPLATES_PER_TYPE = 12

/** The shapes that events had in this process. A shape is only a way to write: what is kept here cannot be wrong. */
export class TemplateCache implements Templates {
  readonly #byType = new Map<string, CachedTemplate[]>()
  readonly #descriptors = new Set<string>()

  forType(type: string): readonly CachedTemplate[] {
    return this.#byType.get(type) ?? []
  }

  add(word: string, type: string): boolean {
    if (!this.#descriptors.has(word)) {
      if (this.#descriptors.size >= MAX_TEMPLATES) return false
      this.#descriptors.add(word)
    }
    const others = this.forType(type).filter((known) => known.descriptor !== word)
    this.#byType.set(
      type,
      [{ descriptor: word, template: compileTemplate(word.slice(type.length + 1)) }, ...others].slice(
        0,
        MAX_TEMPLATES_PER_TYPE,
      ),
    )
    return true
  }
}
