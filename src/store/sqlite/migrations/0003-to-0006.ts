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

/**
 * `run_words` has the words by which a run is found, of its title, tags and agents and of the texts of its sessions. Runs of stores that were
 * written before are not found by words.
 */
export const runWordsSchema = `
CREATE TABLE run_words (
  run INTEGER NOT NULL,
  word TEXT NOT NULL,
  PRIMARY KEY (run, word)
) WITHOUT ROWID;
`

/**
 * `events.hash` covers the event and the hash of the event before it (hash chain), so that a changed, swapped or missing event is found. Events
 * of stores that were written before have none.
 */
export const eventHashesSchema = `
ALTER TABLE events ADD COLUMN hash TEXT;
`

/** One row of words per append, each word after a space, instead of one row per word: half the space, and one insert per append. */
export const wordRowsSchema = `
CREATE TEMP TABLE words_by_run AS SELECT run, ' ' || group_concat(word, ' ') AS words FROM run_words GROUP BY run;
DROP TABLE run_words;
CREATE TABLE run_words (
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  words TEXT NOT NULL,
  PRIMARY KEY (run, seq)
) WITHOUT ROWID;
INSERT INTO run_words SELECT run, 0, words FROM words_by_run;
DROP TABLE words_by_run;
`
