import type { StdioOptions } from 'node:child_process'
import { spawn } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { parseJson } from '../../schema/json-value.ts'
import { TROUPE_FOLDER } from '../files/check-protected.ts'
import { isWithin, resolveRealPath } from '../files/protected-paths.ts'
import type { Workspace } from '../files/workspace.ts'
import { killSandbox } from '../sandbox/kill-process.ts'
import { invalidCallError, operatorError } from '../tool-errors.ts'
import { withUnblockedSearch } from './blocking-ignore-files.ts'
import type { FileMatches, SearchQuery, SearchResult, SearchRoot } from './search-query.ts'
import { MAX_SEARCH_BYTES } from './search-query.ts'

export interface SearchPrograms {
  /** `undefined`: there is none on this machine, and each search fails. */
  ripgrep: string | undefined
  /** Runs ripgrep in a namespace that contains only the workspace: prevents symlink races while it walks. */
  bubblewrap?: string | undefined
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export interface Ripgrep {
  files(root: SearchRoot, signal: AbortSignal): Promise<string[]>
  search(root: SearchRoot, query: SearchQuery, signal: AbortSignal): Promise<SearchResult>
}

const SKIPPED_NAMES: readonly string[] = ['.git', TROUPE_FOLDER]

const SKIP_ARGS = [
  '--no-config',
  '--hidden',
  '--no-follow',
  '--no-messages',
  ...SKIPPED_NAMES.map((name) => `--glob=!${name}`),
]
/** Only the `.gitignore` files of the workspace apply. */
const IGNORE_ARGS = ['--no-require-git', '--no-ignore-global', '--no-ignore-exclude', '--no-ignore-dot']

export function createRipgrep(programs: SearchPrograms, workspace: Workspace): Ripgrep {
  const blockedRoots = new Set<string>()
  const hidesFiles = createRgignoreCheck()
  // Outside of the sandbox, ripgrep would also apply the `.gitignore` files above the workspace.
  const seesParents = programs.bubblewrap !== undefined || !hasIgnoreFileAbove(workspace.realPath)
  const ignoreArgs = seesParents ? IGNORE_ARGS : [...IGNORE_ARGS, '--no-ignore-parent']
  const run = (root: SearchRoot, args: readonly string[], signal: AbortSignal): Promise<Output> => {
    const start = (options: readonly string[], until: AbortSignal) =>
      runRipgrep(
        buildCommandLine(programs, workspace, root),
        { args: [...SKIP_ARGS, ...options], stdin: root.file },
        until,
      )
    const unfiltered = () => start(['--no-ignore', ...args], signal)
    return withUnblockedSearch(
      { workspace, root, blockedRoots, signal, sleep: programs.sleep },
      async (until) => {
        const print = async (options: readonly string[]) => (await start(options, until)).bytes.toString('utf8')
        return (await hidesFiles(print)) ? unfiltered() : start([...ignoreArgs, ...args], until)
      },
      unfiltered,
    )
  }
  return {
    async files(root, signal) {
      const { bytes } = await run(root, ['--files', '--null'], signal)
      return stripDotSlash(bytes.toString('utf8').split('\0'))
    },
    async search(root, query, signal) {
      const target = root.file === undefined ? './' : '-'
      const { bytes, truncated, rejection } = await run(root, [...searchArgs(query), '--', target], signal)
      if (rejection !== undefined) throw rejectedQueryError(rejection)
      const files = query.mode === 'content' ? parseContent(bytes) : parseCounts(bytes, query)
      return { files, incomplete: truncated }
    },
  }
}

function hasIgnoreFileAbove(folder: string): boolean {
  const parent = dirname(folder)
  return parent !== folder && (existsSync(join(parent, '.gitignore')) || hasIgnoreFileAbove(parent))
}

/**
 * The program of the package `@vscode/ripgrep`, or the `rg` of the system where the package has none. One in a folder that agents can write
 * is not used (PATH hijacking).
 */
export function findRipgrep(writable: readonly string[], path: string): string | undefined {
  const packaged = packagedRipgrep()
  const isTrusted = packaged !== undefined && !writable.some((root) => isWithin(packaged, resolveRealPath(root)))
  return isTrusted ? packaged : findProgram('rg', path)
}

/** The package throws when it has no program for this platform. */
function packagedRipgrep(): string | undefined {
  try {
    const { rgPath } = createRequire(import.meta.url)('@vscode/ripgrep') as { rgPath: string }
    return resolveRealPath(rgPath)
  } catch {
    return undefined
  }
}

/** The absolute path of a program from `PATH`. Relative folders in `PATH` are skipped. */
export function findProgram(name: string, path = process.env.PATH ?? ''): string | undefined {
  for (const folder of path.split(delimiter)) {
    if (!folder.startsWith('/')) continue
    try {
      accessSync(join(folder, name), constants.X_OK)
      return join(folder, name)
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}

interface CommandLine {
  program: string
  args: string[]
  cwd: string
  sandboxed: boolean
}

const INSTALLATION_HINT =
  'the operator must install `@vscode/ripgrep` (with its optional dependencies), or `rg` on the system'

/** Caps memory: files in the workspace can make ripgrep allocate without bound (resource exhaustion). */
const LIMITED_SHELL = 'ulimit -d 1048576; exec "$0" "$@"'
/** The shell's statuses for a program that cannot be executed or found. */
const NOT_STARTED_STATUSES = new Set([126, 127])

function buildCommandLine(
  { ripgrep, bubblewrap }: SearchPrograms,
  workspace: Workspace,
  root: SearchRoot,
): CommandLine {
  if (ripgrep === undefined)
    throw operatorError(
      `ripgrep cannot be started: no \`@vscode/ripgrep\` for ${process.platform}-${process.arch} outside of the workspace, no \`rg\` in \`PATH\``,
      INSTALLATION_HINT,
    )
  const limited = ['/bin/sh', '-c', LIMITED_SHELL, ripgrep]
  const [shell = '', ...shellArgs] = limited
  if (!bubblewrap) return { program: shell, args: shellArgs, cwd: root.folder, sandboxed: false }
  const system = ['/usr', '/bin', '/lib', '/lib64', '/nix/store', dirname(ripgrep)]
  const args = [
    ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--clearenv'],
    ...system.flatMap((folder) => ['--ro-bind-try', folder, folder]),
    ...['--ro-bind', workspace.realPath, workspace.realPath, '--chdir', root.path, '--', ...limited],
  ]
  return { program: bubblewrap, args, cwd: '/', sandboxed: true }
}

function searchArgs(query: SearchQuery): string[] {
  const output = {
    content: ['--json'],
    files_with_matches: ['--files-with-matches', '--null'],
    count: ['--count', '--null'],
  }
  return [
    ...output[query.mode],
    ...['--no-mmap', '--with-filename'],
    ...(query.mode === 'content' ? [`--before-context=${query.before}`, `--after-context=${query.after}`] : []),
    ...(query.ignoreCase ? ['--ignore-case'] : ['--case-sensitive']),
    ...(query.multiline ? ['--multiline', '--multiline-dotall'] : []),
    ...(query.fileGlob === undefined ? [] : [`--type-add=wanted:${query.fileGlob}`, '--type=wanted']),
    ...(query.fileType === undefined ? [] : [`--type=${query.fileType}`]),
    `--regexp=${query.pattern}`,
  ]
}

interface Output {
  bytes: Buffer
  truncated: boolean
  /** What ripgrep says about a query that it does not accept. */
  rejection: string | undefined
}

async function runRipgrep(
  { program, args, cwd, sandboxed }: CommandLine,
  { args: ripgrepArgs, stdin }: { args: readonly string[]; stdin: number | undefined },
  signal: AbortSignal,
): Promise<Output> {
  signal.throwIfAborted()
  const stdio: StdioOptions = [stdin ?? 'ignore', 'pipe', 'pipe']
  const child = spawn(program, [...args, ...ripgrepArgs], { cwd, env: {}, detached: sandboxed, stdio })
  const stop = () => (sandboxed ? killSandbox(child) : child.kill('SIGKILL'))
  signal.addEventListener('abort', stop, { once: true })
  const chunks: Buffer[] = []
  let size = 0
  let stderr = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= MAX_SEARCH_BYTES) chunks.push(chunk)
    else stop()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    if (stderr.length < 2000) stderr += chunk.toString('utf8')
  })
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(operatorError(`ripgrep did not start: ${cause.message}`, INSTALLATION_HINT, cause)),
    )
    child.once('close', resolve)
  }).finally(() => signal.removeEventListener('abort', stop))
  signal.throwIfAborted()
  const truncated = size > MAX_SEARCH_BYTES
  const problem = stderr.trim()
  if (NOT_STARTED_STATUSES.has(status ?? 0)) throw operatorError(`ripgrep did not start: ${problem}`, INSTALLATION_HINT)
  // Statuses above 2 are not ripgrep's own: it was killed, and the output is incomplete.
  if (!truncated && (status ?? 3) > 2)
    throw operatorError(`ripgrep failed: ${problem || `status ${status}`}`, INSTALLATION_HINT)
  // 1 means no matches; 2 without a message means that some files could not be read.
  const rejection = status === 2 && size === 0 && problem !== '' ? problem : undefined
  return { bytes: Buffer.concat(chunks), truncated, rejection }
}

function rejectedQueryError(problem: string): Error {
  return invalidCallError(
    `ripgrep rejects \`pattern\`, \`glob\` or \`type\`: ${problem.split('\n\nConsider ')[0]}`,
    'escape literal characters (\\( \\[ \\{ \\. \\* \\+ \\?); set `multiline` for line ends; use `glob` for an unknown type',
  )
}

function stripDotSlash(paths: readonly string[]): string[] {
  return paths.filter((path) => path !== '').map((path) => (path.startsWith('./') ? path.slice(2) : path))
}

function parseCounts(bytes: Buffer, { mode }: SearchQuery): FileMatches[] {
  const text = bytes.toString('utf8')
  if (mode === 'files_with_matches') {
    return stripDotSlash(text.split('\0')).map((path) => ({ path, count: 1, lines: [] }))
  }
  const files: FileMatches[] = []
  for (const [, path = '', count = ''] of text.matchAll(/([^\0]+)\0(\d+)\n/g)) {
    files.push({ path: stripDotSlash([path])[0] ?? path, count: Number(count), lines: [] })
  }
  return files
}

interface JsonText {
  text?: string
  bytes?: string
}

interface JsonLine {
  type: string
  data: { path?: JsonText; lines?: JsonText; line_number?: number; submatches?: unknown[] }
}

function parseContent(bytes: Buffer): FileMatches[] {
  const files = new Map<string, FileMatches>()
  for (const text of bytes.toString('utf8').split('\n')) {
    // The last line of truncated output is not valid JSON.
    const line = parseJson(text) as JsonLine | undefined
    if (line?.type !== 'match' && line?.type !== 'context') continue
    const path = stripDotSlash([decodeText(line.data.path)])[0] ?? ''
    const file = files.get(path) ?? { path, count: 0, lines: [] }
    files.set(path, file)
    const isMatch = line.type === 'match'
    if (isMatch) file.count++
    const texts = decodeText(line.data.lines).replace(/\n$/, '').split('\n')
    for (const [index, content] of texts.entries())
      file.lines.push({ number: (line.data.line_number ?? 1) + index, text: content, isMatch })
  }
  return [...files.values()]
}

function decodeText(text: JsonText | undefined): string {
  return text?.text ?? Buffer.from(text?.bytes ?? '', 'base64').toString('utf8')
}

/*
 * Before version 14, ripgrep applies `.rgignore` files despite `--no-ignore-dot`: an agent that writes one could hide files
 * from a reviewer. Where a `.rgignore` exists, such a version applies no ignore file.
 */

/** Runs ripgrep in the search root and returns its output. */
type PrintRipgrep = (args: readonly string[]) => Promise<string>

/** Whether this version of ripgrep would hide files here. The version is memoised. */
function createRgignoreCheck(): (print: PrintRipgrep) => Promise<boolean> {
  let isOldVersion: Promise<boolean> | undefined
  return async (print) => {
    isOldVersion ??= print(['--version']).then((text) => Number(/^ripgrep (\d+)\./.exec(text)?.[1] ?? 0) < 14)
    // A failure is not memoised.
    isOldVersion.catch(() => {
      isOldVersion = undefined
    })
    return (await isOldVersion) && (await print(FIND_RGIGNORE_ARGS)) !== ''
  }
}

const FIND_RGIGNORE_ARGS = ['--files', '--no-ignore', '--glob=.rgignore']
