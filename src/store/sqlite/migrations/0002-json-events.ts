/**
 * The oldest schema that is supported; schema 1 was never released. Existing files have it: never edit it, add a migration.
 *
 * - `events` is appended in commit order. `data` is JSON. A long value in it is `{"$blob": hash, "size": bytes}`; its JSON is
 *   `blobs.content`, stored once per project. Gates, artifacts and sessions point at events instead of copying their data.
 * - `sessions` has a row for every session id that an event names. The row is a session once `opened_event` is set. It holds
 *   the newest segment; earlier ones are in `segments`.
 * - Gates and session holders count only while their run has not ended, so ending a run updates no other row.
 * - `journal` is for people: events with the ids of their run and session, and with long values in place.
 */
export const jsonEventsSchema = `
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  pattern TEXT NOT NULL,
  title TEXT NOT NULL,
  tags TEXT,
  status TEXT NOT NULL,
  stop_reason TEXT,
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  head INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  owner TEXT,
  lease_until INTEGER,
  usage TEXT NOT NULL,
  syncs INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_live ON runs (project) WHERE ended_at IS NULL;

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  session INTEGER,
  data TEXT NOT NULL
);
CREATE UNIQUE INDEX events_by_run ON events (run, seq);

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL UNIQUE,
  project TEXT,
  opened_at INTEGER,
  opened_event INTEGER,
  ended_event INTEGER,
  holder INTEGER,
  segment INTEGER,
  place INTEGER,
  run INTEGER,
  from_seq INTEGER,
  to_seq INTEGER,
  cache_key TEXT
);
CREATE INDEX sessions_by_cache_key ON sessions (project, cache_key) WHERE cache_key IS NOT NULL;
CREATE TABLE segments (
  session INTEGER NOT NULL,
  place INTEGER NOT NULL,
  run INTEGER NOT NULL,
  from_seq INTEGER NOT NULL,
  to_seq INTEGER,
  PRIMARY KEY (session, place)
) WITHOUT ROWID;

CREATE TABLE gates (
  gate_id TEXT PRIMARY KEY,
  run INTEGER NOT NULL,
  opened_event INTEGER NOT NULL,
  answered_event INTEGER
) WITHOUT ROWID;
CREATE INDEX gates_open ON gates (run) WHERE answered_event IS NULL;

CREATE TABLE commands (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  at INTEGER NOT NULL,
  gate_id TEXT,
  body TEXT NOT NULL
);
CREATE INDEX commands_by_run ON commands (run, id);
CREATE UNIQUE INDEX commands_one_answer ON commands (gate_id) WHERE gate_id IS NOT NULL;

CREATE TABLE artifacts (
  run INTEGER NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  event INTEGER NOT NULL,
  PRIMARY KEY (run, name, version)
) WITHOUT ROWID;

CREATE TABLE blobs (
  project TEXT NOT NULL,
  hash TEXT NOT NULL,
  content TEXT NOT NULL
);
CREATE UNIQUE INDEX blobs_by_hash ON blobs (project, hash);

CREATE TABLE token_buckets (
  key TEXT PRIMARY KEY,
  level REAL NOT NULL,
  at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE vectors (
  project TEXT NOT NULL,
  collection TEXT NOT NULL,
  id TEXT NOT NULL,
  vector BLOB NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (project, collection, id)
) WITHOUT ROWID;

CREATE VIEW journal AS
SELECT runs.run_id, seq, at, type, sessions.session_id,
  CASE WHEN instr(data, '"$blob"') = 0 THEN data ELSE (
    WITH RECURSIVE
      markers (n, path, hash) AS (
        SELECT row_number() OVER (), path, value FROM json_tree(events.data) WHERE key = '$blob'
      ),
      filled (n, json) AS (
        SELECT 0, events.data
        UNION ALL
        SELECT markers.n, json_set(filled.json, markers.path, json(blobs.content))
        FROM filled JOIN markers ON markers.n = filled.n + 1
        LEFT JOIN blobs ON blobs.project = runs.project AND blobs.hash = markers.hash
      )
    SELECT json FROM filled ORDER BY n DESC LIMIT 1
  ) END AS data
FROM events JOIN runs ON runs.id = events.run LEFT JOIN sessions ON sessions.id = events.session;
`
