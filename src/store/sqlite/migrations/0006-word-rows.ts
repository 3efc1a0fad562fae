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
