/**
 * `events.hash` covers the event and the hash of the event before it (hash chain), so that a changed, swapped or missing event is found. Events
 * of stores that were written before have none.
 */
export const eventHashesSchema = `
ALTER TABLE events ADD COLUMN hash TEXT;
`
