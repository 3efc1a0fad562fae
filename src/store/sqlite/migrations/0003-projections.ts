/**
 * `projections` lists the tables of patterns. The declaration is JSON, not SQL: the statements that create the tables are made from it, so
 * that a planted row can add nothing but plain tables. `stale` is set by a process that appended events without computing their rows;
 * `problem` is the first event whose rows could not be computed.
 */
export const projectionsSchema = `
CREATE TABLE projections (
  pattern TEXT PRIMARY KEY,
  declaration TEXT NOT NULL,
  stale INTEGER NOT NULL,
  problem TEXT
) WITHOUT ROWID;
`
