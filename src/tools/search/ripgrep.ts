import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import type { Workspace } from '../files/workspace.ts'
import { killSandbox } from '../sandbox/kill-process.ts'
import { operatorError } from '../tool-errors.ts'
import { javascriptEngine } from './javascript-search.ts'
import type { FallbackContext } from './search-fallback.ts'
import { withSearchFallback } from './search-fallback.ts'
import type { FileMatches, SearchEngine, SearchQuery, SearchRoot } from './search-query.ts'
import { MAX_SEARCH_BYTES } from './search-query.ts'
import { compileSearchRegex } from './search-regex.ts'
import { SKIPPED_NAMES } from './walk-files.ts'

export interface SearchPrograms {
  ripgrep: string
  /** Runs ripgrep in a namespace that contains only the workspace: prevents symlink races while it walks. */
  bubblewrap?: string | undefined
  sleep: FallbackContext['sleep']
}

/** Selects the same files as `walkFiles`: hidden files included, only the `.gitignore` files of the workspace applied. */
const FILE_SELECTION_ARGS = [
  '--no-config',
  '--hidden',
  '--no-follow',
  '--no-require-git',
  '--no-ignore-global',
  '--no-ignore-exclude',
  '--no-ignore-parent',
  '--no-ignore-dot',
  '--no-messages',
  '--no-mmap',
  ...SKIPPED_NAMES.map((name) => `--glob=!${name}`),
]

export function ripgrepEngine(programs: SearchPrograms, workspace: Workspace): SearchEngine {
  const run = (root: SearchRoot, args: readonly string[], signal: AbortSignal) =>
    runRipgrep(buildCommandLine(programs, workspace, root), args, signal)
  const { sleep } = programs
  const blockedRoots = new Set<string>()
  const hidesFiles = createRgignoreCheck()
  const runOrFallBack = <T>(
    { root, signal }: Pick<FallbackContext, 'root' | 'signal'>,
    search: (signal: AbortSignal) => Promise<T>,
    fallback: () => Promise<T>,
  ) =>
    withSearchFallback(
      { root, blockedRoots, signal, sleep },
      async (searchSignal) => {
        const print = async (args: readonly string[]) => (await run(root, args, searchSignal)).bytes.toString('utf8')
        return (await hidesFiles(print)) ? fallback() : search(searchSignal)
      },
      fallback,
    )
  const listFiles = async (root: SearchRoot, signal: AbortSignal) => {
    const { bytes } = await run(root, ['--files', '--null', ...FILE_SELECTION_ARGS], signal)
    return stripDotSlash(bytes.toString('utf8').split('\0'))
  }
  const searchContents = async (root: SearchRoot, query: SearchQuery, signal: AbortSignal) => {
    const { bytes, truncated } = await run(root, searchArgs(query), signal)
    const files = query.mode === 'content' ? parseContent(bytes) : parseCounts(bytes, query)
    return { files, incomplete: truncated }
  }
  return {
    name: 'ripgrep',
    files: (root, signal) =>
      runOrFallBack(
        { root, signal },
        (searchSignal) => listFiles(root, searchSignal),
        () => javascriptEngine.files(root, signal),
      ),
    async search(root, query, signal) {
      // Both engines must reject the same expressions.
      compileSearchRegex(query.pattern, query)
      return runOrFallBack(
        { root, signal },
        (searchSignal) => searchContents(root, query, searchSignal),
        () => javascriptEngine.search(root, query, signal),
      )
    },
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

const INSTALLATION_HINT = 'the operator must fix the ripgrep installation, or set `ripgrep: false`'

/** Caps memory: files in the workspace can make ripgrep allocate without bound (resource exhaustion). */
const LIMITED_SHELL = 'ulimit -d 1048576; exec "$0" "$@"'
/** The shell's statuses for a program that cannot be executed or found. */
const NOT_STARTED_STATUSES = new Set([126, 127])

function buildCommandLine(
  { ripgrep, bubblewrap }: SearchPrograms,
  workspace: Workspace,
  root: SearchRoot,
): CommandLine {
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
    ...FILE_SELECTION_ARGS,
    ...(query.mode === 'content' ? [`--before-context=${query.before}`, `--after-context=${query.after}`] : []),
    ...(query.ignoreCase ? ['--ignore-case'] : ['--case-sensitive']),
    ...(query.multiline ? ['--multiline', '--multiline-dotall'] : []),
    ...query.fileGlobs.map((glob) => `--type-add=wanted:${glob}`),
    ...(query.fileGlobs.length > 0 ? ['--type=wanted'] : []),
    `--regexp=${query.pattern}`,
    '--',
    './',
  ]
}

async function runRipgrep(
  { program, args, cwd, sandboxed }: CommandLine,
  ripgrepArgs: readonly string[],
  signal: AbortSignal,
): Promise<{ bytes: Buffer; truncated: boolean }> {
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  const child = spawn(program, [...args, ...ripgrepArgs], { cwd, env: {}, detached: sandboxed, stdio })
  const stop = () => (sandboxed ? killSandbox(child) : child.kill('SIGKILL'))
  signal.addEventListener('abort', stop, { once: true })
  const chunks: Buffer[] = []
  let size = 0
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= MAX_SEARCH_BYTES) chunks.push(chunk)
    else stop()
  })
  child.stderr.on('data', (chunk: Buffer) => {
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
  if (NOT_STARTED_STATUSES.has(status ?? 0))
    throw operatorError(`ripgrep did not start: ${stderr.trim()}`, INSTALLATION_HINT)
  const failure = operatorError(`ripgrep failed: ${stderr.trim() || `status ${status}`}`, INSTALLATION_HINT)
  // Statuses above 2 are not ripgrep's own: it was killed, and the output is incomplete.
  if (!truncated && (status ?? 3) > 2) throw failure
  // 1 means no matches; 2 with output means that some files could not be read.
  if (!truncated && (status ?? 2) > 1 && size === 0) throw failure
  return { bytes: Buffer.concat(chunks), truncated }
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
    const line = parseJsonLine(text)
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

/** The last line of truncated output is not valid JSON. */
function parseJsonLine(line: string): JsonLine | undefined {
  if (line === '') return undefined
  try {
    return JSON.parse(line) as JsonLine
  } catch {
    return undefined
  }
}

/*
 * Before version 14, ripgrep applies `.rgignore` files despite `--no-ignore-dot`: an agent that writes one could hide files
 * from a reviewer. Such a version is not used where a `.rgignore` exists.
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

const FIND_RGIGNORE_ARGS = [
  ...['--no-config', '--files', '--hidden', '--no-ignore', '--no-follow', '--no-messages', '--glob=.rgignore'],
  ...SKIPPED_NAMES.map((name) => `--glob=!${name}`),
]
