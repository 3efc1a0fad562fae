import { statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { withAbort } from '../../kernel/world.ts'
import type { Workspace } from '../files/workspace.ts'
import { spawnSandboxedServer } from '../sandbox/open-sandbox.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { javascriptEngine } from '../search/javascript-search.ts'
import type { LanguageServerCommand } from './find-language-server.ts'
import { findTypescriptServer } from './find-language-server.ts'
import type { LanguageServerLimits } from './language-server.ts'
import { DEFAULT_LANGUAGE_SERVER_LIMITS, LanguageServer } from './language-server.ts'

export interface LanguageServerHostOptions {
  workspace: Workspace
  sandbox: Sandbox
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Instead of the workspace's own. */
  command?: LanguageServerCommand
  limits?: LanguageServerLimits
}

const SOURCE_FILES = /\.(?:[cm]?[jt]sx?|json)$/
const IDLE_MS = 10 * 60_000

/** The workspace's language server: started when it is first needed, again when it ended, stopped when nobody asks. */
export class LanguageServerHost {
  private readonly options: LanguageServerHostOptions
  private current: Promise<LanguageServer> | undefined
  private modifiedTimes = new Map<string, number>()
  private idleTimer: NodeJS.Timeout | undefined

  constructor(options: LanguageServerHostOptions) {
    this.options = options
  }

  /** A server that knows the workspace as it is now. */
  async ready(signal: AbortSignal): Promise<LanguageServer> {
    clearTimeout(this.idleTimer)
    this.idleTimer = setTimeout(() => this.stop(), IDLE_MS)
    this.idleTimer.unref()
    const known =
      this.current &&
      (await withAbort(
        this.current.catch(() => undefined),
        signal,
      ))
    const changes = await this.fileChanges(signal)
    if (known && !known.isStopped) {
      if (changes.length > 0) known.notify('workspace/didChangeWatchedFiles', { changes })
      return known
    }
    this.current = this.start()
    // Whoever cannot wait leaves; the start goes on for those who come later.
    return withAbort(this.current, signal)
  }

  stop(): void {
    clearTimeout(this.idleTimer)
    void this.current?.then(
      (server) => server.stop(),
      () => {},
    )
    this.current = undefined
  }

  private async start(): Promise<LanguageServer> {
    const { workspace, sandbox, sleep, command, limits = DEFAULT_LANGUAGE_SERVER_LIMITS } = this.options
    // It is the workspace's own program: it may be anything, so it runs where commands run, and only reads.
    const work = await spawnSandboxedServer(sandbox, {
      command: command ?? findTypescriptServer(workspace),
      write: false,
    })
    // A server that waits for questions is no reason for the process to go on.
    work.child.unref()
    for (const pipe of [work.child.stdin, work.child.stdout, work.child.stderr]) (pipe as Socket | null)?.unref()
    const server = new LanguageServer(work, limits, sleep)
    await server.initialize(workspace.realPath)
    return server
  }

  /** Files that came, changed or went since the last look: commands change them behind the server's back. */
  private async fileChanges(signal: AbortSignal): Promise<{ uri: string; type: 1 | 2 | 3 }[]> {
    const { workspace } = this.options
    const root = { folder: workspace.realPath, path: workspace.realPath, segments: [] }
    const files = (await javascriptEngine.files(root, signal)).filter((path) => SOURCE_FILES.test(path))
    const times = new Map(files.map((path) => [path, modifiedTime(join(workspace.realPath, path))]))
    const uri = (path: string) => pathToFileURL(join(workspace.realPath, path)).href
    const before = this.modifiedTimes
    this.modifiedTimes = times
    return [
      ...[...times].filter(([path]) => !before.has(path)).map(([path]) => ({ uri: uri(path), type: 1 as const })),
      ...[...times]
        .filter(([path, time]) => before.has(path) && before.get(path) !== time)
        .map(([path]) => ({ uri: uri(path), type: 2 as const })),
      ...[...before.keys()].filter((path) => !times.has(path)).map((path) => ({ uri: uri(path), type: 3 as const })),
    ]
  }
}

function modifiedTime(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
