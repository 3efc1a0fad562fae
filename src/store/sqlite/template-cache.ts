import { compileTemplate } from './compiled-template.ts'
import type { CachedTemplate, Templates } from './event-encoder.ts'

/** Bounds the dictionary: a program may produce an unbounded number of templates. */
const MAX_TEMPLATES = 2000
/** Templates that are tried before a new one is built. */
const MAX_TEMPLATES_PER_TYPE = 12

/** Templates used in this process. A template is only an encoding, so a stale cache is never wrong. */
export class TemplateCache implements Templates {
  readonly #byType = new Map<string, CachedTemplate[]>()
  readonly #descriptors = new Set<string>()

  forType(type: string): readonly CachedTemplate[] {
    return this.#byType.get(type) ?? []
  }

  add(descriptor: string, type: string): boolean {
    if (!this.#descriptors.has(descriptor)) {
      if (this.#descriptors.size >= MAX_TEMPLATES) return false
      this.#descriptors.add(descriptor)
    }
    const others = this.forType(type).filter((cached) => cached.descriptor !== descriptor)
    const newest = { descriptor, template: compileTemplate(descriptor.slice(type.length + 1)) }
    this.#byType.set(type, [newest, ...others].slice(0, MAX_TEMPLATES_PER_TYPE))
    return true
  }
}
