import { parseJson } from '../../schema/json-value.ts'
import { appendState, readState, toFileName } from './tool-state.ts'
import type { Workspace } from './workspace.ts'

/*
 * The content hash of each file as each session last saw it.
 * 1. Stored as JSON Lines in `.troupe/seen`, so that a resumed run can continue editing. If the file is lost, nothing counts
 *    as read and the model has to read again (fail safe).
 * 2. Write-ahead: a change is recorded with its idempotency key and its resulting hash before it is made. After a crash, the
 *    file's hash shows whether it was made.
 */

export interface PendingChange {
  before: string | null
  after: string
}

interface SeenRecord {
  path: string
  hash: string
  key?: string
  before?: string | null
}

interface SeenState {
  seen: Map<string, string>
  pending: Map<string, PendingChange>
}

export class SeenFiles {
  private readonly sessions = new Map<string, Promise<SeenState>>()
  private readonly workspace: Workspace

  constructor(workspace: Workspace) {
    this.workspace = workspace
  }

  /** The hash of the content that the session last read or wrote. */
  async lastSeenHash(session: string, path: string): Promise<string | undefined> {
    return (await this.loadState(session)).seen.get(path)
  }

  async recordSeen(session: string, path: string, hash: string): Promise<void> {
    const state = await this.loadState(session)
    if (state.seen.get(path) === hash) return
    state.seen.set(path, hash)
    await this.append(session, { path, hash })
  }

  async recordPendingChange(
    session: string,
    { path, key, before, after }: PendingChange & { path: string; key: string },
  ): Promise<void> {
    const state = await this.loadState(session)
    state.pending.set(key, { before, after })
    await this.append(session, { path, hash: after, key, before })
  }

  /** The write-ahead record of an interrupted call. */
  async pendingChange(session: string, key: string): Promise<PendingChange | undefined> {
    return (await this.loadState(session)).pending.get(key)
  }

  private append(session: string, record: SeenRecord): Promise<void> {
    return appendState(this.workspace, this.statePath(session), `${JSON.stringify(record)}\n`)
  }

  private loadState(session: string): Promise<SeenState> {
    let state = this.sessions.get(session)
    if (!state) {
      state = readState(this.workspace, this.statePath(session)).then((text) => parseState(text ?? ''))
      this.sessions.set(session, state)
    }
    return state
  }

  private statePath(session: string): string[] {
    return ['seen', `${toFileName(session)}.jsonl`]
  }
}

function parseState(text: string): SeenState {
  const state: SeenState = { seen: new Map(), pending: new Map() }
  for (const line of text.split('\n')) {
    const record = parseRecord(line)
    if (!record) continue
    if (record.key === undefined) state.seen.set(record.path, record.hash)
    else state.pending.set(record.key, { before: record.before ?? null, after: record.hash })
  }
  return state
}

/** Ignores a line that a crash cut off. */
function parseRecord(line: string): SeenRecord | undefined {
  const record = parseJson(line) as Partial<SeenRecord> | null | undefined
  return typeof record?.path === 'string' && typeof record.hash === 'string' ? (record as SeenRecord) : undefined
}
