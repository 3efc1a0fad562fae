import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { canonicalJson, shortHash } from '../../kernel/hash.ts'
import type { EnvironmentVariables } from '../../kernel/world.ts'
import { isWithin, resolveRealPath } from '../files/protected-paths.ts'
import { openWorkspace } from '../files/workspace.ts'
import { openSandbox } from '../sandbox/open-sandbox.ts'
import { hostProgramPath } from '../sandbox/trusted-path.ts'
import { findProgram } from '../search/ripgrep.ts'
import { operatorError } from '../tool-errors.ts'
import { serverCacheFolder } from './mcp-server-config.ts'
import type { NpxCommand } from './npx-command.ts'
import { packageName } from './npx-command.ts'

/*
 * Installs the package of a server whose command is npx, before the server starts in a sandbox that has neither network nor a home.
 * 1. Supply chain: npm and the install scripts of packages run in a sandbox of their own. It reaches the registry and sees only the new
 *    folder and npm itself; no file of the project, no variable of this process.
 * 2. A folder is complete or not there: it is filled under another name and renamed. A package that is installed is not fetched again.
 * 3. The server can read the folder and not write it.
 * 4. Cache poisoning: a folder is shared only by entries that would install the same: packages, registry and all settings of npm are in its name. No
 *    npm of a project is used, and nobody else may write the cache.
 */

const DEFAULT_REGISTRY = 'https://registry.npmjs.org/'
const STDERR_CHARS = 400

export interface InstallContext {
  env: EnvironmentVariables
  /** Variables of the server's entry. */
  serverEnv: Readonly<Record<string, string>>
  /** Folders that agents can write: no program in them is executed. */
  writable: readonly string[]
  signal: AbortSignal
  /** Called before a package is fetched. */
  onInstall(message: string): void
}

export interface InstalledProgram {
  folder: string
  /** Path of the program. */
  program: string
}

/** The registry of npm, as set for the server or for this process. */
export function npmRegistry({ env, serverEnv }: Pick<InstallContext, 'env' | 'serverEnv'>): URL {
  const value =
    npmSettings(serverEnv).npm_config_registry ?? env.npm_config_registry ?? env.NPM_CONFIG_REGISTRY ?? DEFAULT_REGISTRY
  const url = URL.parse(value)
  if (url) return url
  throw operatorError(
    `\`npm_config_registry\` is not a URL: ${value}`,
    'correct it in `env` of the entry, or in the environment',
  )
}

/** Installs the packages of a command unless they are there, and finds the program. */
export async function installServer(command: NpxCommand, context: InstallContext): Promise<InstalledProgram> {
  const registry = npmRegistry(context)
  const root = serverCacheFolder(context.env)
  const settings = npmSettings(context.serverEnv)
  const key = shortHash(canonicalJson([command.packages, registry.href, settings, process.versions.modules]))
  const label = packageName(command.packages[0] ?? '').replaceAll(/[^a-z0-9.-]+/gi, '_')
  const folder = join(root, `${label}-${key}`)
  mkdirSync(root, { recursive: true, mode: 0o700 })
  assertPrivate(root)
  if (!isFolder(folder)) {
    context.onInstall(`npm installs ${command.packages.join(' and ')} into ${folder}, once`)
    removeAbandoned(root)
    await installInto(folder, { root, command, registry, context })
  }
  return { folder, program: join(folder, 'node_modules', '.bin', programName(command, folder)) }
}

/** Another user who can write the folder could plant a package there. */
function assertPrivate(folder: string): void {
  const { uid, mode } = lstatSync(folder)
  if (isFolder(folder) && uid === process.getuid?.() && (mode & 0o022) === 0) return
  throw operatorError(
    `${folder} is not a folder that only you can write`,
    `delete it, or set \`XDG_CACHE_HOME\` to another folder; packages of MCP servers are installed there`,
  )
}

const ABANDONED_MS = 24 * 3_600_000

/** Removes what killed installations left. */
function removeAbandoned(root: string): void {
  for (const name of readdirSync(root)) {
    const path = join(root, name)
    if (!name.startsWith(STAGING) || Date.now() - lstatSync(path).mtimeMs < ABANDONED_MS) continue
    rmSync(path, { recursive: true, force: true })
  }
}

const STAGING = '.install-'

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

interface Installation {
  root: string
  command: NpxCommand
  registry: URL
  context: InstallContext
}

async function installInto(folder: string, { root, command, registry, context }: Installation): Promise<void> {
  const staging = mkdtempSync(join(root, STAGING))
  try {
    writeFileSync(join(staging, 'package.json'), '{ "private": true }\n')
    await runNpm(staging, { command, registry, context })
    try {
      renameSync(staging, folder)
    } catch (thrown) {
      // Another process was faster.
      if (!isFolder(folder)) throw thrown
    }
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

async function runNpm(staging: string, { command, registry, context }: Omit<Installation, 'root'>): Promise<void> {
  const npm = findNpm(context)
  const workspace = openWorkspace(staging)
  const certificates = certificateSettings(context.env)
  const read = [dirname(dirname(npm)), ...Object.values(certificates)]
  const sandbox = openSandbox({ workspace, sandbox: { read }, hosts: [registry.host] })
  try {
    const quiet = ['--no-audit', '--no-fund', '--no-progress', '--no-update-notifier', '--loglevel=error']
    const options = [...quiet, '--fetch-retries=1', '--fetch-retry-mintimeout=1000']
    const { child, ended, kill } = await sandbox.spawn({
      // The Node that runs the server: npm on an older one picks older versions of packages.
      command: [process.execPath, npm, 'install', ...options, '--', ...command.packages],
      env: { ...nodePath(), ...certificates, ...npmSettings(context.serverEnv), npm_config_registry: registry.href },
    })
    context.signal.addEventListener('abort', kill, { once: true })
    // The start took a moment.
    if (context.signal.aborted) kill()
    let stderr = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-4 * STDERR_CHARS)
    })
    child.stdout?.resume()
    const { code } = await ended
    context.signal.throwIfAborted()
    if (code !== 0) throw installError(command, { registry, stderr, code })
  } finally {
    await sandbox.close()
  }
}

/**
 * The script of npm. Information leak: its folder is visible to install scripts, and the folder of a wrapper such as `~/bin/npm` is the home
 * folder; so only a real npm counts.
 */
function findNpm({ env, writable }: InstallContext): string {
  const path = hostProgramPath(writable, env.PATH ?? '')
  for (const folder of path.split(delimiter)) {
    const program = findProgram('npm', folder)
    const npm = program === undefined ? undefined : realpathSync(program)
    if (npm?.endsWith('/npm/bin/npm-cli.js') && !writable.some((root) => isWithin(npm, resolveRealPath(root))))
      return npm
  }
  throw operatorError(
    'npm is missing, which installs it; a wrapper of npm, or one inside of the workspace, is not used',
    'install npm, or set `command` to the program of the server',
  )
}

/** The settings of npm in the entry of the server, in lower case as npm reads them, except those of one registry; its other variables are for the server only. */
function npmSettings(serverEnv: InstallContext['serverEnv']): Record<string, string> {
  const settings = Object.entries(serverEnv).filter(([name]) => /^npm_config_/i.test(name))
  return Object.fromEntries(settings.map(([name, value]) => [name.includes('//') ? name : name.toLowerCase(), value]))
}

/** `PATH` inside the sandbox, with the Node of this process first. */
export function nodePath(): { PATH: string } {
  return { PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin` }
}

/** Certificates of a network that inspects TLS. Without them nothing can be fetched there. */
export function certificateSettings(env: EnvironmentVariables): Record<string, string> {
  const names = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE']
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])))
}

function installError(
  { packages }: NpxCommand,
  { registry, stderr, code }: { registry: URL; stderr: string; code: number | null },
): Error {
  const output = stderr.trim().slice(0, STDERR_CHARS)
  return operatorError(
    `npm could not install ${packages.join(' and ')} from ${registry.host} (exit code ${code}): ${output || 'no output'}`,
    `check the name and version of the package in \`args\`, and that ${registry.host} can be reached`,
  )
}

/** The name of the program, as npx chooses it. */
function programName({ packages, program }: NpxCommand, folder: string): string {
  if (program !== undefined) return program
  const name = packageName(packages[0] ?? '')
  const file = join(folder, 'node_modules', name, 'package.json')
  const bin = lstatSync(file, { throwIfNoEntry: false })?.isFile()
    ? JSON.parse(readFileSync(file, 'utf8')).bin
    : undefined
  const short = name.replace(/^@[^/]*\//, '')
  if (typeof bin === 'string') return short
  const names = Object.keys(bin ?? {})
  const [only] = names
  if (names.length === 1 && only !== undefined) return only
  if (names.includes(short)) return short
  throw operatorError(
    `the package ${name} has ${names.length === 0 ? 'no program' : `several programs: ${names.join(', ')}`}`,
    'name package and program in `args`: ["-y", "-p", "PACKAGE", "PROGRAM"]',
  )
}
