import type { ToolSpec } from '../kernel/model.ts'

/** Characters that make providers reject the whole request, such as `.` and `:`. */
const INVALID_CHARACTERS = /[^A-Za-z0-9_-]/g

/** Maps tool names to names that every provider accepts, and back. */
export class ToolNameMap {
  readonly #wire = new Map<string, string>()
  readonly #original = new Map<string, string>()

  constructor(tools: readonly ToolSpec[]) {
    // Valid names are mapped first, so that a rewritten name never shadows one of them.
    for (const { name } of tools) if (name.search(INVALID_CHARACTERS) === -1) this.#pair(name, name)
    for (const { name } of tools)
      if (!this.#wire.has(name)) this.#pair(name, this.#unusedName(name.replace(INVALID_CHARACTERS, '_')))
  }

  /** Also maps tools that occur only in earlier messages. */
  toWire(name: string): string {
    return this.#wire.get(name) ?? name.replace(INVALID_CHARACTERS, '_')
  }

  fromWire(name: string): string {
    return this.#original.get(name) ?? name
  }

  #pair(original: string, wire: string): void {
    this.#wire.set(original, wire)
    this.#original.set(wire, original)
  }

  #unusedName(wire: string): string {
    let candidate = wire
    for (let n = 2; this.#original.has(candidate); n++) candidate = `${wire}_${n}`
    return candidate
  }
}
