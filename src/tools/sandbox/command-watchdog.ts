import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkInterruptedCommands } from './interrupted-commands.ts'
import { identifyProcess, isAlive } from './process-identity.ts'

/*
 * A process that outlives Troupe when it is killed, and then checks the commands that were in progress.
 * 1. It has loaded its code before the first command starts: the installation may be in the workspace, where commands can change it.
 * 2. It has a session of its own and no terminal, so that Ctrl+C and the death of the process group do not reach it.
 * 3. It ends with Troupe. Nothing waits for it: when it cannot start, the next start of Troupe checks instead.
 */
export class CommandWatchdog {
  private child: ChildProcess | undefined
  private ready: Promise<void> | undefined
  private readonly folder: string
  private readonly path: string

  /** `path` is the trusted `PATH`. */
  constructor(folder: string, path: string) {
    this.folder = folder
    this.path = path
  }

  /** Starts the process with the first call; resolves when it watches. */
  start(): Promise<void> {
    this.ready ??= this.#launch()
    return this.ready
  }

  close(): void {
    this.child?.stdin?.end(FINISHED)
    this.ready = undefined
  }

  #launch(): Promise<void> {
    const module = fileURLToPath(import.meta.url)
    // In a bundle, the module is the whole program.
    if (!/^command-watchdog\.[jt]s$/.test(basename(module))) return Promise.resolve()
    const child = spawn(process.execPath, ['-e', PROGRAM, import.meta.url, this.folder, String(process.pid)], {
      cwd: '/',
      env: { PATH: this.path },
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.child = child
    return new Promise((resolve) => {
      const settle = () => {
        // It must not keep the program from exiting, which ends it.
        child.unref()
        for (const pipe of [child.stdin, child.stdout]) (pipe as { unref?(): void } | null)?.unref?.()
        resolve()
      }
      child.stdin?.on('error', () => {})
      child.stdout?.once('data', settle)
      child.once('error', settle)
      child.once('exit', settle)
    })
  }
}

const PROGRAM = 'import(process.argv[1]).then((m) => m.watchProcess(process.argv[2], Number(process.argv[3])))'
const FINISHED = 'finished'

/** The program of the watchdog: waits until the process is dead or says that it has finished. */
export function watchProcess(folder: string, pid: number): void {
  const owner = identifyProcess(pid)
  let isFinished = false
  process.stdin.on('data', () => {
    isFinished = true
  })
  process.stdin.on('end', () => {
    // The pipe of a dying process is closed before the process is gone.
    const check = () => {
      if (owner && isAlive(owner)) setTimeout(check, 10)
      else checkInterruptedCommands(folder)
    }
    if (!isFinished) check()
  })
  process.stdout.write('ready')
}
