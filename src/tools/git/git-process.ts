import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { devNull } from 'node:os'
import { signalProcessGroup } from '../sandbox/kill-process.ts'

/*
 * Runs git on the host, in repositories that strangers wrote.
 * 1. Nothing that the repository or the environment names is executed: hooks, filters, merge drivers, fsmonitor, pagers, editors, credential
 *    helpers, signing and remote helpers are overridden (arbitrary code execution). `GIT_*` variables of this process are not passed on.
 * 2. Time and output are bounded, and nothing waits for a terminal.
 */

export interface GitCommand {
  args: readonly string[]
  /** Text for stdin. */
  input?: string
  /** Further variables, such as the author of a commit. */
  env?: Readonly<Record<string, string>>
}

export interface GitOutput {
  /** `null` if it was stopped. */
  status: number | null
  stdout: Buffer
  stderr: string
  /** Why it has no status. */
  stopped?: 'timeout' | 'output' | 'missing'
}

export interface GitProgram {
  /** Path of the program. */
  program: string
  /** The trusted `PATH`: git starts its own sub-commands. */
  path: string
  /** Ends its commands. */
  signal: AbortSignal | undefined
}

const TIMEOUT_MS = 300_000
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024
const MAX_STDERR_CHARS = 20_000

/** Settings that start no program, and no background work. */
export const SAFE_SETTINGS: readonly (readonly [key: string, value: string])[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', devNull],
  ['core.sshCommand', 'false'],
  ['core.gitProxy', ''],
  ['core.askPass', ''],
  ['core.editor', 'false'],
  ['core.pager', 'cat'],
  ['core.alternateRefsCommand', 'false'],
  ['credential.helper', ''],
  ['diff.external', ''],
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  ['gpg.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.x509.program', 'false'],
  ['gpg.ssh.defaultKeyCommand', 'false'],
  ['log.showSignature', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['submodule.recurse', 'false'],
  ['protocol.allow', 'never'],
  // Several runs may use the repository at a time.
  ['core.filesRefLockTimeout', '10000'],
  ['core.packedRefsTimeout', '10000'],
  // This process reads no settings of the user, who may trust the folder. Nothing of it is executed.
  ['safe.directory', '*'],
]

const SAFE_ENVIRONMENT: Readonly<Record<string, string>> = {
  LC_ALL: 'C',
  TERM: 'dumb',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: devNull,
  GIT_ATTR_NOSYSTEM: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'false',
  GIT_EDITOR: 'false',
  GIT_SEQUENCE_EDITOR: 'false',
  GIT_PAGER: 'cat',
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_SSH_COMMAND: 'false',
}

/** Settings as variables: unlike `-c`, they allow any name of a filter. */
export function settingsEnvironment(settings: readonly (readonly [key: string, value: string])[]) {
  const entries = settings.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key] as const,
    [`GIT_CONFIG_VALUE_${index}`, value] as const,
  ])
  return { GIT_CONFIG_COUNT: String(settings.length), ...Object.fromEntries(entries) }
}

/** Runs one git command to its end, whatever its status. Throws the reason of the signal. */
export async function runGit({ program, path, signal }: GitProgram, command: GitCommand): Promise<GitOutput> {
  const { args, input = '' } = command
  signal?.throwIfAborted()
  const child = spawn(program, ['--no-pager', ...args], {
    env: { PATH: path, ...SAFE_ENVIRONMENT, ...settingsEnvironment(SAFE_SETTINGS), ...command.env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const chunks: Buffer[] = []
  let [bytes, stderr] = [0, '']
  let stopped: GitOutput['stopped']
  const stop = (reason: GitOutput['stopped']) => {
    stopped ??= reason
    terminate(child)
  }
  const onAbort = () => stop('timeout')
  const timer = setTimeout(onAbort, TIMEOUT_MS)
  signal?.addEventListener('abort', onAbort, { once: true })
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MAX_OUTPUT_BYTES) stop('output')
    else chunks.push(chunk)
  })
  child.stderr.on('data', (chunk: Buffer) => {
    if (stderr.length < MAX_STDERR_CHARS) stderr += chunk.toString('utf8')
  })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const status = await new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      stopped = 'missing'
      stderr = error.message
      resolve(null)
    })
    child.once('close', resolve)
  })
  clearTimeout(timer)
  signal?.removeEventListener('abort', onAbort)
  signal?.throwIfAborted()
  return {
    status: stopped ? null : status,
    stdout: Buffer.concat(chunks),
    stderr,
    ...(stopped ? { stopped } : undefined),
  }
}

const GRACE_MS = 2_000

/** With SIGTERM first: git removes its lock files then. */
function terminate(child: ChildProcess): void {
  const { pid } = child
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const timer = setTimeout(() => signalProcessGroup(pid, 'SIGKILL'), GRACE_MS)
  child.once('exit', () => clearTimeout(timer))
}
