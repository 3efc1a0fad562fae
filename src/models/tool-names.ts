import type { ToolSpec } from '../kernel/model.ts'

/** Providers refuse a whole request for one `.` or `:` in a tool's name. */
const UNFIT = /[^A-Za-z0-9_-]/g

/** Names of tools as they go over the wire, and back. */
export class ToolNames {
  readonly #wire = new Map<string, string>()
  readonly #own = new Map<string, string>()

  constructor(tools: readonly ToolSpec[]) {
    // Names that fit keep themselves, so a rewritten one can never take a fitting tool's place.
    for (const { name } of tools) if (name.search(UNFIT) === -1) this.#pair(name, name)
    for (const { name } of tools) if (!this.#wire.has(name)) this.#pair(name, this.#free(name.replace(UNFIT, '_')))
  }

  /** Also for tools that only earlier messages mention. */
  toWire(name: string): string {
    return this.#wire.get(name) ?? name.replace(UNFIT, '_')
  }

  fromWire(name: string): string {
    return this.#own.get(name) ?? name
  }

  #pair(own: string, wire: string): void {
    this.#wire.set(own, wire)
    this.#own.set(wire, own)
  }

  #free(wire: string): string {
    let free = wire
    for (let n = 2; this.#own.has(free); n++) free = `${wire}_${n}`
    return free
  }
}
