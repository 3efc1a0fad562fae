import { lstatSync } from 'node:fs'

/** The state of a file without its content: it differs after every write. */
export function readFileState(path: string): string | undefined {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stat?.isFile() ? `${stat.ino} ${stat.size} ${stat.mtimeNs}` : undefined
}

/** Changes of files that a call has reported, so that a command that runs meanwhile does not report them, too. */
export class ReportedChanges {
  readonly #states = new Map<string, string>()

  add(path: string, state: string | undefined): void {
    if (state !== undefined) this.#states.set(path, state)
  }

  has(path: string, state: string): boolean {
    return this.#states.get(path) === state
  }
}
