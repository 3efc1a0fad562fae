import type { StdioSpec } from './mcp-server-config.ts'

/** A command that runs a package of the npm registry: `npx -y PACKAGE ARGS`. */
export interface NpxCommand {
  packages: readonly string[]
  /** The program to run; `undefined`: the one of the first package. */
  program: string | undefined
  args: readonly string[]
}

const FLAGS = new Set(['-y', '--yes', '-q', '--quiet', '--prefer-offline', '--prefer-online'])
/** A name with an optional version; not a folder, a URL or a repository. */
const REGISTRY_PACKAGE = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*(@[a-z0-9^~<>=*.+ |-]+)?$/i

/** Parses the command of a server; `undefined` when it is not npx, or npx with other options than those known here. */
export function parseNpxCommand({ command, args }: Pick<StdioSpec, 'command' | 'args'>): NpxCommand | undefined {
  if (!/(^|\/)npx$/.test(command)) return undefined
  const packages: string[] = []
  let index = 0
  for (; index < args.length; index++) {
    const arg = args[index] ?? ''
    if (FLAGS.has(arg)) continue
    const [, inline] = /^--package=(.+)$/.exec(arg) ?? []
    if (inline !== undefined) packages.push(inline)
    else if (arg === '-p' || arg === '--package') packages.push(args[++index] ?? '')
    else if (arg === '--') {
      index++
      break
    } else if (arg.startsWith('-')) return undefined
    else break
  }
  const [first, ...rest] = args.slice(index)
  if (first === undefined) return undefined
  const isFirstPackage = packages.length === 0
  if (isFirstPackage) packages.push(first)
  if (!packages.every((name) => REGISTRY_PACKAGE.test(name))) return undefined
  return { packages, program: isFirstPackage ? undefined : first, args: rest }
}

/** The name of a package without its version. */
export function packageName(spec: string): string {
  const end = spec.indexOf('@', 1)
  return end === -1 ? spec : spec.slice(0, end)
}
