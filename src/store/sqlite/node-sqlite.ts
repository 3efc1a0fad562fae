import type { DatabaseSync, StatementSync } from 'node:sqlite'

export type Database = DatabaseSync
export type Statement = StatementSync

export interface OpenDatabaseOptions {
  readOnly?: boolean
  /** Milliseconds for which SQLite may block the thread while another connection holds a lock. */
  timeout?: number
}

/**
 * Opens a file with Node's SQLite. Suppresses the warning of Node 22 that SQLite is experimental: it would appear in the
 * middle of the user's output.
 */
export function openDatabase(path: string, options: OpenDatabaseOptions = {}): Database {
  const emitWarning = process.emitWarning
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes('SQLite is an experimental feature')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }) as typeof process.emitWarning
  try {
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
    const db = new DatabaseSync(path, { timeout: 0, ...options })
    // A planted database must not run functions from its schema, and no statement may rewrite a schema. Node 22 has no
    // defensive mode yet.
    db.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON')
    db.enableDefensive?.(true)
    return db
  } finally {
    process.emitWarning = emitWarning
  }
}
