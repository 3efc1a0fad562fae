import { appendState, fileNameOf, readState } from './own-state.ts'
import type { Workspace } from './workspace.ts'

/*
 * What each session last saw of each file, as content hashes.
 * 1. It is a file of lines in the workspace's own folder, so that a resumed run can go on editing. Where it is gone, nothing
 *    counts as read and the model is told to read again: the safe side.
 * 2. A change is announced with its key and the hash it will leave before it is made. After a crash the file's hash then
 *    tells whether it was made.
 */

export interface Announced {
  before: string | null
  after: string
}

interface Line {
  path: string
  hash: string
  key?: string
  before?: string | null
}

interface Memory {
  seen: Map<string, string>
  announced: Map<string, Announced>
}

export class SeenFiles {
  private readonly sessions = new Map<string, Promise<Memory>>()
  private readonly workspace: Workspace

  constructor(workspace: Workspace) {
    this.workspace = workspace
  }

  /** The hash of what the session last read or wrote there. */
  async hashFor(session: string, path: string): Promise<string | undefined> {
    return (await this.memory(session)).seen.get(path)
  }

  async remember(session: string, path: string, hash: string): Promise<void> {
    const memory = await this.memory(session)
    if (memory.seen.get(path) === hash) return
    memory.seen.set(path, hash)
    await this.append(session, { path, hash })
  }

  async announce(session: string, path: string, key: string, change: Announced): Promise<void> {
    const memory = await this.memory(session)
    memory.announced.set(key, change)
    await this.append(session, { path, hash: change.after, key, before: change.before })
  }

  /** What a call had announced before it was interrupted. */
  async announced(session: string, key: string): Promise<Announced | undefined> {
    return (await this.memory(session)).announced.get(key)
  }

  private append(session: string, line: Line): Promise<void> {
    return appendState(this.workspace, this.file(session), `${JSON.stringify(line)}\n`)
  }

  private memory(session: string): Promise<Memory> {
    let memory = this.sessions.get(session)
    if (!memory) {
      memory = readState(this.workspace, this.file(session)).then((text) => memoryOf(text ?? ''))
      this.sessions.set(session, memory)
    }
    return memory
  }

  private file(session: string): string[] {
    return ['seen', `${fileNameOf(session)}.jsonl`]
  }
}

function memoryOf(text: string): Memory {
  const memory: Memory = { seen: new Map(), announced: new Map() }
  for (const raw of text.split('\n')) {
    const line = lineOf(raw)
    if (!line) continue
    if (line.key === undefined) memory.seen.set(line.path, line.hash)
    else memory.announced.set(line.key, { before: line.before ?? null, after: line.hash })
  }
  return memory
}

/** A line cut off by a crash is no line. */
function lineOf(raw: string): Line | undefined {
  try {
    const line: unknown = JSON.parse(raw)
    const { path, hash } = line as Line
    return typeof path === 'string' && typeof hash === 'string' ? (line as Line) : undefined
  } catch {
    return undefined
  }
}
