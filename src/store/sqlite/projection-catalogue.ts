import type { Declaration } from '../tables/declaration.ts'
import { checkProjections, declarationJson } from '../tables/declaration.ts'
import type { PatternProjection } from '../tables/projection.ts'
import type { Database } from './node-sqlite.ts'

/** The tables of one pattern, as the file has them. */
export interface CatalogueEntry {
  pattern: string
  declaration: Declaration
  /** In the fixed form of `declarationJson`. */
  json: string
  /** True if events were appended whose rows are missing. */
  stale: boolean
  problem: string | null
}

function statements(db: Database) {
  return {
    list: db.prepare('SELECT pattern, declaration, stale, problem FROM projections ORDER BY pattern'),
    put: db.prepare(
      `INSERT INTO projections (pattern, declaration, stale, problem) VALUES (?, ?, 0, NULL)
       ON CONFLICT (pattern) DO UPDATE SET declaration = excluded.declaration, stale = 0, problem = NULL`,
    ),
    markStale: db.prepare('UPDATE projections SET stale = 1 WHERE pattern = ? AND stale = 0'),
    setProblem: db.prepare('UPDATE projections SET problem = ? WHERE pattern = ? AND problem IS NULL'),
  }
}

/** The tables of patterns that a file has, whichever process created them. */
export class ProjectionCatalogue {
  readonly #sql

  constructor(db: Database) {
    this.#sql = statements(db)
  }

  entries(): CatalogueEntry[] {
    return this.#sql.list.all().map(toEntry)
  }

  put({ pattern, projection }: PatternProjection): void {
    this.#sql.put.run(pattern, declarationJson(projection))
  }

  markStale(pattern: string): void {
    this.#sql.markStale.run(pattern)
  }

  setProblem(pattern: string, problem: string): void {
    this.#sql.setProblem.run(problem, pattern)
  }
}

/** Reads the declarations before anything in the file is trusted. Throws if one is invalid. */
export function readDeclarations(db: Database): Declaration[] {
  const entries = db.prepare('SELECT pattern, declaration, stale, problem FROM projections').all().map(toEntry)
  checkProjections(entries.map(({ pattern, declaration }) => ({ pattern, projection: declaration })))
  return entries.map(({ declaration }) => declaration)
}

function toEntry({ pattern, declaration, stale, problem }: Record<string, unknown>): CatalogueEntry {
  const json = String(declaration)
  return {
    pattern: String(pattern),
    declaration: JSON.parse(json) as Declaration,
    json,
    stale: stale !== 0,
    problem: problem === null ? null : String(problem),
  }
}
