import { spawn } from 'node:child_process'
import type { EnvironmentVariables } from '../../kernel/world.ts'
import { spawnSandboxedServer } from '../sandbox/open-sandbox.ts'
import type { ProcessExit, Sandbox, SandboxedProcess } from '../sandbox/sandbox.ts'
import { accessDeniedError } from '../tool-errors.ts'
import type { StdioSpec } from './mcp-server-config.ts'
import { safeVariables } from './mcp-variables.ts'

/** Helpers that a server left behind may hold its output open for ever. */
const DRAIN_MS = 500

const UNCONFINED_HINT =
  'give it a sandbox (a workspace, or mcp.sandbox; `troupe doctor` says what is missing), ' +
  'or say that it may do what this process can: --no-sandbox, or mcp: { unconfined: true }'

export interface LaunchContext {
  sandbox: Sandbox | undefined
  /** Said by whoever answers for the machine: programs may run without a sandbox. */
  unconfined: boolean
  /** Whether it may write to the workspace. Nobody is asked before a program writes. */
  write: boolean
  env: EnvironmentVariables
}

/** Starts a server's program: in the sandbox, or in the open with a few variables where somebody said so. */
export async function launchMcpServer(
  spec: StdioSpec,
  { sandbox, unconfined, write, env }: LaunchContext,
): Promise<SandboxedProcess> {
  if (!sandbox || sandbox.kind === 'none') {
    if (unconfined) return launchUnsandboxed(spec, env)
    throw accessDeniedError('there is no sandbox to run its program in', UNCONFINED_HINT)
  }
  return spawnSandboxedServer(sandbox, {
    command: [spec.command, ...spec.args],
    env: spec.env,
    write,
    ...(spec.cwd === undefined ? undefined : { cwd: spec.cwd }),
  })
}

function launchUnsandboxed(spec: StdioSpec, env: EnvironmentVariables): Promise<SandboxedProcess> {
  const child = spawn(spec.command, [...spec.args], {
    env: { ...safeVariables(env), ...spec.env },
    ...(spec.cwd === undefined ? undefined : { cwd: spec.cwd }),
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own: wrappers such as npx start the server proper, and both have to end.
    detached: true,
  })
  const kill = () => signalProcessGroup(child.pid, 'SIGKILL')
  killOnExit(kill)
  const { promise: ended, resolve, reject } = Promise.withResolvers<ProcessExit>()
  child.once('error', reject)
  child.once('exit', (code, signal) => {
    kill()
    setTimeout(() => resolve({ code, signal }), DRAIN_MS).unref()
  })
  child.once('close', (code, signal) => resolve({ code, signal }))
  ended.catch(() => {}).finally(() => runningServers.delete(kill))
  const started = Promise.withResolvers<SandboxedProcess>()
  child.once('spawn', () => started.resolve({ child, ended, kill }))
  child.once('error', started.reject)
  return started.promise
}

const runningServers = new Set<() => void>()
let isExitHookInstalled = false

/** A program that leaves without closing its troupe leaves no servers behind. */
function killOnExit(kill: () => void): void {
  runningServers.add(kill)
  if (isExitHookInstalled) return
  isExitHookInstalled = true
  process.once('exit', () => {
    for (const each of runningServers) each()
  })
}

export function signalProcessGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}
