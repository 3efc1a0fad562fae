import { spawn } from 'node:child_process'
import { refused } from '../complaint.ts'
import { sandboxedSpawn } from '../sandbox/open-sandbox.ts'
import type { Ended, Sandbox, SandboxedProcess } from '../sandbox/sandbox.ts'
import type { StdioSpec } from './server-config.ts'
import type { Environment } from './variables.ts'
import { harmless } from './variables.ts'

/** Helpers that a server left behind may hold its output open for ever. */
const LAST_WORDS_MS = 500

const UNCONFINED_HINT =
  'give it a sandbox (a workspace, or mcp.sandbox; `troupe doctor` says what is missing), ' +
  'or say that it may do what this process can: --no-sandbox, or mcp: { unconfined: true }'

export interface LaunchSite {
  sandbox: Sandbox | undefined
  /** Said by whoever answers for the machine: programs may run without a sandbox. */
  unconfined: boolean
  /** Whether it may write to the workspace. Nobody is asked before a program writes. */
  write: boolean
  env: Environment
}

/** Starts a server's program: in the sandbox, or in the open with a few variables where somebody said so. */
export async function launch(
  spec: StdioSpec,
  { sandbox, unconfined, write, env }: LaunchSite,
): Promise<SandboxedProcess> {
  if (!sandbox || sandbox.kind === 'none') {
    if (unconfined) return inTheOpen(spec, env)
    throw refused('there is no sandbox to run its program in', UNCONFINED_HINT)
  }
  return sandboxedSpawn(sandbox, {
    command: [spec.command, ...spec.args],
    env: spec.env,
    write,
    ...(spec.cwd === undefined ? undefined : { cwd: spec.cwd }),
  })
}

function inTheOpen(spec: StdioSpec, env: Environment): Promise<SandboxedProcess> {
  const child = spawn(spec.command, [...spec.args], {
    env: { ...harmless(env), ...spec.env },
    ...(spec.cwd === undefined ? undefined : { cwd: spec.cwd }),
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own: wrappers such as npx start the server proper, and both have to end.
    detached: true,
  })
  const kill = () => signalGroup(child.pid, 'SIGKILL')
  remember(kill)
  const { promise: ended, resolve, reject } = Promise.withResolvers<Ended>()
  child.once('error', reject)
  child.once('exit', (code, signal) => {
    kill()
    setTimeout(() => resolve({ code, signal }), LAST_WORDS_MS).unref()
  })
  child.once('close', (code, signal) => resolve({ code, signal }))
  ended.catch(() => {}).finally(() => alive.delete(kill))
  const started = Promise.withResolvers<SandboxedProcess>()
  child.once('spawn', () => started.resolve({ child, ended, kill }))
  child.once('error', started.reject)
  return started.promise
}

const alive = new Set<() => void>()
let watching = false

/** A program that leaves without closing its troupe leaves no servers behind. */
function remember(kill: () => void): void {
  alive.add(kill)
  if (watching) return
  watching = true
  process.once('exit', () => {
    for (const each of alive) each()
  })
}

export function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}
