import type { CompiledTemplate } from './compiled-template.ts'
import { compileTemplate } from './compiled-template.ts'

/** Bounds the dictionary: a program may produce an unbounded number of templates. */
const MAX_TEMPLATES = 2000
/** Templates that are tried before a new one is built. */
const MAX_TEMPLATES_PER_TYPE = 12

interface CachedTemplate {
  /** The event type, a space, and the template. */
  descriptor: string
  template: CompiledTemplate
}

/** Templates used in this process. A template is only an encoding, so a stale cache is never wrong. */
export class TemplateCache {
  readonly #byType = new Map<string, CachedTemplate[]>()
  readonly #descriptors = new Set<string>()

  /** The templates that events of this type used recently. */
  forType(type: string): readonly CachedTemplate[] {
    return this.#byType.get(type) ?? []
  }

  /** Returns false if the cache is full. */
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
