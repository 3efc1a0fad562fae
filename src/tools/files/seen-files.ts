import { appendState, readState, toFileName } from './tool-state.ts'
import type { Workspace } from './workspace.ts'

/*
 * What each session last saw of each file, as content hashes.
 * 1. It is a file of lines in the workspace's own folder, so that a resumed run can go on editing. Where it is gone, nothing
 *    counts as read and the model is told to read again: the safe side.
 * 2. A change is announced with its key and the hash it will leave before it is made. After a crash the file's hash then
 *    tells whether it was made.
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

  /** The hash of what the session last read or wrote there. */
  async lastSeenHash(session: string, path: string): Promise<string | undefined> {
    return (await this.loadState(session)).seen.get(path)
  }

  async recordSeen(session: string, path: string, hash: string): Promise<void> {
    const memory = await this.loadState(session)
    if (memory.seen.get(path) === hash) return
    memory.seen.set(path, hash)
    await this.append(session, { path, hash })
  }

  async recordPendingChange(session: string, path: string, key: string, change: PendingChange): Promise<void> {
    const memory = await this.loadState(session)
    memory.pending.set(key, change)
    await this.append(session, { path, hash: change.after, key, before: change.before })
  }

  /** What a call had announced before it was interrupted. */
  async pendingChange(session: string, key: string): Promise<PendingChange | undefined> {
    return (await this.loadState(session)).pending.get(key)
  }

  private append(session: string, line: SeenRecord): Promise<void> {
    return appendState(this.workspace, this.file(session), `${JSON.stringify(line)}\n`)
  }

  private loadState(session: string): Promise<SeenState> {
    let memory = this.sessions.get(session)
    if (!memory) {
      memory = readState(this.workspace, this.file(session)).then((text) => parseState(text ?? ''))
      this.sessions.set(session, memory)
    }
    return memory
  }

  private file(session: string): string[] {
    return ['seen', `${toFileName(session)}.jsonl`]
  }
}

function parseState(text: string): SeenState {
  const memory: SeenState = { seen: new Map(), pending: new Map() }
  for (const raw of text.split('\n')) {
    const line = parseRecord(raw)
    if (!line) continue
    if (line.key === undefined) memory.seen.set(line.path, line.hash)
    else memory.pending.set(line.key, { before: line.before ?? null, after: line.hash })
  }
  return memory
}

/** A line cut off by a crash is no line. */
function parseRecord(raw: string): SeenRecord | undefined {
  try {
    const line: unknown = JSON.parse(raw)
    const { path, hash } = line as SeenRecord
    return typeof path === 'string' && typeof hash === 'string' ? (line as SeenRecord) : undefined
  } catch {
    return undefined
  }
}
