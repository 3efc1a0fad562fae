import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { TroupeError } from '../../errors.ts'
import type { EnvironmentVariables } from '../../kernel/world.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { findProgram } from '../search/ripgrep.ts'
import type { ServerSpec, StdioSpec } from './mcp-server-config.ts'
import { isPackageRunner } from './mcp-server-config.ts'
import { parseNpxCommand } from './npx-command.ts'

interface StartContext {
  sandbox: Sandbox | undefined
  env: EnvironmentVariables
}

const NETWORK_FAILURE =
  /ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED|getaddrinfo|fetch failed|network (is )?unreachable|name resolution/i

/** Why a server did not start: the error, its output, and what the sandbox keeps from it. */
export function describeStartFailure(
  spec: ServerSpec,
  { error, output }: { error: Error; output: string },
  { sandbox, env }: StartContext,
): string {
  const { message } = error
  // Such an error already says what to do.
  if (error instanceof TroupeError) return error.code === 'denied' ? message : `${message}; ${error.hint}`
  const tail = output.trim()
  const reason = tail === '' || message.includes(tail) ? message : `${message}; stderr: ${tail}`
  if (spec.kind !== 'stdio' || !sandbox || sandbox.kind === 'none') return reason
  if (!spec.command.includes('/') && findProgram(spec.command, env.PATH ?? '') === undefined)
    return `${reason}; the program '${spec.command}' is not installed on this machine`
  const hidden = hiddenPaths(spec, sandbox, env)
  const notes: string[] = []
  if (hidden.length > 0) {
    const folders = [...new Set(hidden.map((path) => (isFolder(path) ? path : readableFolder(path))))]
    notes.push(
      `the sandbox hides ${hidden.join(' and ')}: add "sandbox": { "read": ${JSON.stringify(folders)} } to its entry`,
    )
  }
  const fetches = isPackageRunner(spec) && !parseNpxCommand(spec)
  if ((spec.sandbox.hosts ?? []).length === 0 && (fetches || NETWORK_FAILURE.test(reason)))
    notes.push(
      'it has no network in the sandbox: add "sandbox": { "hosts": ["HOST"] } with the hosts it needs to its entry',
    )
  return [reason, ...notes].join('; ')
}

/** The program and the arguments that are paths of this machine and cannot be seen inside. */
function hiddenPaths(
  { command, args, sandbox: access }: StdioSpec,
  sandbox: Sandbox,
  env: EnvironmentVariables,
): string[] {
  const program = command.includes('/') ? command : findProgram(command, env.PATH ?? '')
  const paths = [program, ...args.map((arg) => arg.replace(/^--?[\w-]+=/, ''))]
  return paths.filter(
    (path): path is string =>
      path?.startsWith('/') === true && existsSync(path) && sandbox.isVisible?.(path, access) === false,
  )
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** The default of `sandbox.read` for a path: its folder, or the package that it is in. */
function readableFolder(path: string): string {
  const [, packageRoot] = /^(.*\/node_modules)\//.exec(path) ?? []
  return packageRoot ?? dirname(path)
}
