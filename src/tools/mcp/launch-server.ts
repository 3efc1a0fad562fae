import { spawn } from 'node:child_process'
import { delimiter } from 'node:path'
import type { EnvironmentVariables } from '../../kernel/world.ts'
import { signalProcessGroup } from '../sandbox/kill-process.ts'
import { spawnSandboxedServer } from '../sandbox/open-sandbox.ts'
import type { ProcessExit, Sandbox, SandboxedProcess } from '../sandbox/sandbox.ts'
import { hostProgramPath } from '../sandbox/trusted-path.ts'
import { accessDeniedError } from '../tool-errors.ts'
import type { StdioSpec } from './mcp-server-config.ts'
import { safeVariables } from './mcp-variables.ts'

/** Wait for remaining output after the exit; orphaned child processes may keep the pipes open forever. */
const DRAIN_MS = 500

const UNCONFINED_HINT =
  'set up a sandbox (a workspace, or `mcp.sandbox`; `troupe doctor` shows what is missing), ' +
  'or allow unsandboxed servers with --no-sandbox or `mcp: { unconfined: true }`'

export interface LaunchContext {
  sandbox: Sandbox | undefined
  /** Allows servers to run without a sandbox. */
  unconfined: boolean
  /** Whether the server can write to the workspace; no permission rule sees those writes. */
  write: boolean
  env: EnvironmentVariables
}

/** Starts the process of a stdio server in the sandbox; without a sandbox only if `unconfined` is set. */
export async function launchMcpServer(
  spec: StdioSpec,
  { sandbox, unconfined, write, env }: LaunchContext,
): Promise<SandboxedProcess> {
  if (!sandbox || sandbox.kind === 'none') {
    if (unconfined) return launchUnsandboxed(spec, env)
    throw accessDeniedError('there is no sandbox to run it in', UNCONFINED_HINT)
  }
  return spawnSandboxedServer(sandbox, {
    command: [spec.command, ...spec.args],
    env: spec.env,
    write,
    access: spec.sandbox,
    ...(spec.cwd === undefined ? undefined : { cwd: spec.cwd }),
  })
}

function launchUnsandboxed(spec: StdioSpec, env: EnvironmentVariables): Promise<SandboxedProcess> {
  const child = spawn(spec.command, [...spec.args], {
    env: { ...safeVariables(env), PATH: serverPath(env), ...spec.env },
    ...(spec.cwd === undefined ? undefined : { cwd: spec.cwd }),
    stdio: ['pipe', 'pipe', 'pipe'],
    // Own process group: wrappers such as npx start the server as a child, and both must be killed.
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

/** Prevents PATH hijacking: programs of the project, such as a `node_modules/.bin/npx`, are found only where the machine has none of that name. */
function serverPath({ PATH = '' }: EnvironmentVariables): string {
  return [hostProgramPath([process.cwd()], PATH), PATH].filter((path) => path !== '').join(delimiter)
}

const runningServers = new Set<() => void>()
let isExitHookInstalled = false

/** Prevents orphan processes when this process exits without `close`. */
function killOnExit(kill: () => void): void {
  runningServers.add(kill)
  if (isExitHookInstalled) return
  isExitHookInstalled = true
  process.once('exit', () => {
    for (const killServer of runningServers) killServer()
  })
}
