import { statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { withAbort } from '../../kernel/world.ts'
import type { Workspace } from '../files/workspace.ts'
import { spawnSandboxedServer } from '../sandbox/open-sandbox.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Searcher } from '../search/searcher.ts'
import type { LanguageServerCommand } from './find-language-server.ts'
import { createServerCheck, findTypescriptServer, noSandboxError } from './find-language-server.ts'
import type { LanguageServer, LanguageServerLimits } from './language-server.ts'

export interface LanguageServerHostOptions {
  workspace: Workspace
  sandbox: Sandbox
  searcher: Searcher
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Default: the language server found by `findTypescriptServer`. */
  command?: LanguageServerCommand
  limits?: LanguageServerLimits
}

const SOURCE_FILES = /\.(?:[cm]?[jt]sx?|json)$/
const IDLE_MS = 10 * 60_000

/** Starts the language server on demand, restarts it after a failure, and stops it when idle. */
export class LanguageServerHost {
  /** The reason why there is no server to start. */
  readonly unavailable: () => string | undefined
  private readonly options: LanguageServerHostOptions
  private current: Promise<LanguageServer> | undefined
  private stopped = new AbortController()
  private modifiedTimes = new Map<string, number>()
  private idleTimer: NodeJS.Timeout | undefined

  constructor(options: LanguageServerHostOptions) {
    this.options = options
    this.unavailable = options.command ? () => undefined : createServerCheck(options.workspace, options.sandbox)
  }

  /** A running server that has been notified of all file changes. */
  async ready(signal: AbortSignal): Promise<LanguageServer> {
    clearTimeout(this.idleTimer)
    this.idleTimer = setTimeout(() => this.stop(), IDLE_MS)
    this.idleTimer.unref()
    const { current } = this
    const running =
      current &&
      (await withAbort(
        current.catch(() => undefined),
        signal,
      ))
    const changes = await this.fileChanges(signal)
    if (running && !running.isStopped) {
      if (changes.length > 0) running.notify('workspace/didChangeWatchedFiles', { changes })
      return running
    }
    // Another call may have started a server meanwhile.
    if (this.current === current) this.current = undefined
    this.current ??= this.start()
    // An abort ends only this wait; the start continues for later callers.
    return withAbort(this.current, signal)
  }

  /** Also ends a server that is still starting. */
  stop(): void {
    clearTimeout(this.idleTimer)
    this.stopped.abort()
    this.current = undefined
  }

  private async start(): Promise<LanguageServer> {
    this.stopped = new AbortController()
    const { signal } = this.stopped
    const { LanguageServer, DEFAULT_LANGUAGE_SERVER_LIMITS } = await import('./language-server.ts')
    const { workspace, sandbox, sleep, command, limits = DEFAULT_LANGUAGE_SERVER_LIMITS } = this.options
    const server = command ?? findTypescriptServer(workspace)
    if (!command && sandbox.kind === 'none') throw noSandboxError()
    // The server comes from the workspace and is untrusted: it runs in the sandbox, without write access.
    const serverProcess = await spawnSandboxedServer(sandbox, {
      command: server,
      write: false,
    })
    // An idle server must not keep this process alive.
    const { child } = serverProcess
    child.unref()
    for (const pipe of [child.stdin, child.stdout, child.stderr]) (pipe as Socket | null)?.unref()
    const client = new LanguageServer(serverProcess, limits, sleep)
    signal.addEventListener('abort', () => client.stop())
    if (signal.aborted) client.stop()
    await client.initialize(workspace.realPath)
    return client
  }

  /** Files created, changed or deleted since the last call: commands change files without notifying the server. */
  private async fileChanges(signal: AbortSignal): Promise<{ uri: string; type: 1 | 2 | 3 }[]> {
    const { workspace, searcher } = this.options
    const files = (await searcher.files('.', signal)).filter((path) => SOURCE_FILES.test(path))
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
