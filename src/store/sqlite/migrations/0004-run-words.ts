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
