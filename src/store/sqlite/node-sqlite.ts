import type { DatabaseSync } from 'node:sqlite'

export type Database = DatabaseSync

export interface OpenDatabaseOptions {
  readOnly?: boolean
  /** Milliseconds SQLite may block the thread while another connection holds a lock. */
  timeout?: number
}

/**
 * Opens a file with Node's SQLite. Node 22 warns on first use that SQLite is experimental: that one line would land in
 * the user's terminal, in the middle of their output, so it alone is kept back.
 */
export function openDatabase(path: string, options: OpenDatabaseOptions = {}): Database {
  const emitWarning = process.emitWarning
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes('SQLite is an experimental feature')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }) as typeof process.emitWarning
  try {
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
    return new DatabaseSync(path, { timeout: 0, ...options })
  } finally {
    process.emitWarning = emitWarning
  }
}
