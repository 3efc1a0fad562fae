import type { ToolSpec } from '../kernel/model.ts'

/** Providers refuse a whole request for one `.` or `:` in a tool's name. */
const INVALID_CHARACTERS = /[^A-Za-z0-9_-]/g

/** Names of tools as they go over the wire, and back. */
export class ToolNameMap {
  readonly #wire = new Map<string, string>()
  readonly #own = new Map<string, string>()

  constructor(tools: readonly ToolSpec[]) {
    // Names that fit keep themselves, so a rewritten one can never take a fitting tool's place.
    for (const { name } of tools) if (name.search(INVALID_CHARACTERS) === -1) this.#pair(name, name)
    for (const { name } of tools)
      if (!this.#wire.has(name)) this.#pair(name, this.#unusedName(name.replace(INVALID_CHARACTERS, '_')))
  }

  /** Also for tools that only earlier messages mention. */
  toWire(name: string): string {
    return this.#wire.get(name) ?? name.replace(INVALID_CHARACTERS, '_')
  }

  fromWire(name: string): string {
    return this.#own.get(name) ?? name
  }

  #pair(own: string, wire: string): void {
    this.#wire.set(own, wire)
    this.#own.set(wire, own)
  }

  #unusedName(wire: string): string {
    let free = wire
    for (let n = 2; this.#own.has(free); n++) free = `${wire}_${n}`
    return free
  }
}
