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
  /** With it, ripgrep sees nothing but the workspace: a folder swapped for a link while it walks leads nowhere. */
  bubblewrap?: string | undefined
  sleep: FallbackContext['sleep']
}

/** The same files as our own walk: hidden ones too, `.gitignore` of the workspace and nothing else. */
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
  const start = (root: SearchRoot, args: readonly string[], signal: AbortSignal) =>
    runRipgrep(buildCommandLine(programs, workspace, root), args, signal)
  const { sleep } = programs
  const blockedRoots = new Set<string>()
  const hides = createRgignoreCheck()
  /** With ripgrep where that sees what we would see, and ends. */
  const answered = <T>(
    { root, signal }: Pick<FallbackContext, 'root' | 'signal'>,
    work: (signal: AbortSignal) => Promise<T>,
    instead: () => Promise<T>,
  ) =>
    withSearchFallback(
      { root, blockedRoots, signal, sleep },
      async (until) => {
        const ask = async (args: readonly string[]) => (await start(root, args, until)).bytes.toString('utf8')
        return (await hides(ask)) ? instead() : work(until)
      },
      instead,
    )
  const listed = async (root: SearchRoot, signal: AbortSignal) => {
    const { bytes } = await start(root, ['--files', '--null', ...FILE_SELECTION_ARGS], signal)
    return stripDotSlash(bytes.toString('utf8').split('\0'))
  }
  const searched = async (root: SearchRoot, query: SearchQuery, signal: AbortSignal) => {
    const { bytes, cut } = await start(root, searchArgs(query), signal)
    const files = query.mode === 'content' ? parseContent(bytes) : parseCounts(bytes, query)
    return { files, incomplete: cut }
  }
  return {
    name: 'ripgrep',
    files: (root, signal) =>
      answered(
        { root, signal },
        (until) => listed(root, until),
        () => javascriptEngine.files(root, signal),
      ),
    async search(root, query, signal) {
      // Both ways of searching refuse the same expressions.
      compileSearchRegex(query.pattern, query)
      return answered(
        { root, signal },
        (until) => searched(root, query, until),
        () => javascriptEngine.search(root, query, signal),
      )
    },
  }
}

/** Where a program is, by `PATH`. */
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

/** What it may need is little; what it is made to read may be much. Not found, it is told apart by its status. */
const LIMITED_SHELL = 'ulimit -d 1048576; exec "$0" "$@"'
const NOT_STARTED_STATUSES = new Set([126, 127])

function buildCommandLine(
  { ripgrep, bubblewrap }: SearchPrograms,
  workspace: Workspace,
  root: SearchRoot,
): CommandLine {
  const limited = ['/bin/sh', '-c', LIMITED_SHELL, ripgrep]
  const [shell = '', ...words] = limited
  if (!bubblewrap) return { program: shell, args: words, cwd: root.folder, sandboxed: false }
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
  more: readonly string[],
  signal: AbortSignal,
): Promise<{ bytes: Buffer; cut: boolean }> {
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  const child = spawn(program, [...args, ...more], { cwd, env: {}, detached: sandboxed, stdio })
  const stop = () => (sandboxed ? killSandbox(child) : child.kill('SIGKILL'))
  signal.addEventListener('abort', stop, { once: true })
  const chunks: Buffer[] = []
  let size = 0
  let complaint = ''
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= MAX_SEARCH_BYTES) chunks.push(chunk)
    else stop()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    if (complaint.length < 2000) complaint += chunk.toString('utf8')
  })
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(operatorError(`ripgrep did not start: ${cause.message}`, 'set ripgrep: false', cause)),
    )
    child.once('close', resolve)
  }).finally(() => signal.removeEventListener('abort', stop))
  signal.throwIfAborted()
  const cut = size > MAX_SEARCH_BYTES
  if (NOT_STARTED_STATUSES.has(status ?? 0))
    throw operatorError(`ripgrep did not start: ${complaint.trim()}`, 'set ripgrep: false')
  // It ends with nothing above 2 by itself: what it printed is not all.
  if (!cut && (status ?? 3) > 2) throw operatorError(`ripgrep failed: ${complaint.trim() || `status ${status}`}`)
  // 1 is "nothing found"; 2 with output means that some files could not be read.
  if (!cut && (status ?? 2) > 1 && size === 0)
    throw operatorError(`ripgrep failed: ${complaint.trim() || `status ${status}`}`)
  return { bytes: Buffer.concat(chunks), cut }
}

function stripDotSlash(paths: readonly string[]): string[] {
  return paths.filter((path) => path !== '').map((path) => (path.startsWith('./') ? path.slice(2) : path))
}

function parseCounts(bytes: Buffer, { mode }: SearchQuery): FileMatches[] {
  const text = bytes.toString('utf8')
  if (mode === 'files_with_matches') {
    return stripDotSlash(text.split('\0')).map((path) => ({ path, count: 1, lines: [] }))
  }
  const found: FileMatches[] = []
  for (const [, path = '', count = ''] of text.matchAll(/([^\0]+)\0(\d+)\n/g)) {
    found.push({ path: stripDotSlash([path])[0] ?? path, count: Number(count), lines: [] })
  }
  return found
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
  for (const raw of bytes.toString('utf8').split('\n')) {
    const line = parseJsonLine(raw)
    if (line?.type !== 'match' && line?.type !== 'context') continue
    const path = stripDotSlash([decodeText(line.data.path)])[0] ?? ''
    const file = files.get(path) ?? { path, count: 0, lines: [] }
    files.set(path, file)
    const isMatch = line.type === 'match'
    if (isMatch) file.count++
    const texts = decodeText(line.data.lines).replace(/\n$/, '').split('\n')
    for (const [at, text] of texts.entries())
      file.lines.push({ number: (line.data.line_number ?? 1) + at, text, isMatch })
  }
  return [...files.values()]
}

function decodeText(text: JsonText | undefined): string {
  return text?.text ?? Buffer.from(text?.bytes ?? '', 'base64').toString('utf8')
}

/** The last line of an output that was cut is no JSON. */
function parseJsonLine(raw: string): JsonLine | undefined {
  if (raw === '') return undefined
  try {
    return JSON.parse(raw) as JsonLine
  } catch {
    return undefined
  }
}

/*
 * Before version 14, ripgrep hides what a `.rgignore` names although it is told to mind no such file: whoever can write
 * one could hide files from those who review. Where there is one, such a ripgrep is not used.
 */

/** Runs ripgrep in the place to be searched, and returns what it prints. */
type RunRipgrep = (args: readonly string[]) => Promise<string>

/** Whether this ripgrep would hide files here. The age is asked for once. */
function createRgignoreCheck(): (ask: RunRipgrep) => Promise<boolean> {
  let old: Promise<boolean> | undefined
  return async (ask) => {
    old ??= ask(['--version']).then((text) => Number(/^ripgrep (\d+)\./.exec(text)?.[1] ?? 0) < 14)
    // What could not be asked is asked again.
    old.catch(() => {
      old = undefined
    })
    return (await old) && (await ask(FIND_RGIGNORE_ARGS)) !== ''
  }
}

const FIND_RGIGNORE_ARGS = [
  ...['--no-config', '--files', '--hidden', '--no-ignore', '--no-follow', '--no-messages', '--glob=.rgignore'],
  ...SKIPPED_NAMES.map((name) => `--glob=!${name}`),
]
