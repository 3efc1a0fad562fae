import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { unable } from '../complaint.ts'
import type { Workspace } from '../files/workspace.ts'
import { endSandbox } from '../sandbox/end-group.ts'
import { expressionOf } from './expression.ts'
import { javascriptEngine } from './javascript.ts'
import { oldRipgrep } from './old-ripgrep.ts'
import type { FileMatches, Query, SearchEngine, SearchRoot } from './query.ts'
import { MOST_BYTES } from './query.ts'
import type { Patience } from './stuck.ts'
import { unlessStuck } from './stuck.ts'
import { SKIPPED_NAMES } from './walk.ts'

export interface Programs {
  ripgrep: string
  /** With it, ripgrep sees nothing but the workspace: a folder swapped for a link while it walks leads nowhere. */
  bubblewrap?: string | undefined
  sleep: Patience['sleep']
}

/** The same files as our own walk: hidden ones too, `.gitignore` of the workspace and nothing else. */
const SAME_FILES = [
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

export function ripgrepEngine(programs: Programs, workspace: Workspace): SearchEngine {
  const start = (root: SearchRoot, args: readonly string[], signal: AbortSignal) =>
    run(commandLine(programs, workspace, root), args, signal)
  const { sleep } = programs
  const trapped = new Set<string>()
  const hides = oldRipgrep()
  /** With ripgrep where that sees what we would see, and ends. */
  const answered = <T>(
    { root, signal }: Pick<Patience, 'root' | 'signal'>,
    work: (signal: AbortSignal) => Promise<T>,
    instead: () => Promise<T>,
  ) =>
    unlessStuck(
      { root, trapped, signal, sleep },
      async (until) => {
        const ask = async (args: readonly string[]) => (await start(root, args, until)).bytes.toString('utf8')
        return (await hides(ask)) ? instead() : work(until)
      },
      instead,
    )
  const listed = async (root: SearchRoot, signal: AbortSignal) => {
    const { bytes } = await start(root, ['--files', '--null', ...SAME_FILES], signal)
    return withoutDot(bytes.toString('utf8').split('\0'))
  }
  const searched = async (root: SearchRoot, query: Query, signal: AbortSignal) => {
    const { bytes, cut } = await start(root, searchArgs(query), signal)
    const files = query.mode === 'content' ? contentOf(bytes) : countsOf(bytes, query)
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
      expressionOf(query.pattern, query)
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
  jailed: boolean
}

/** What it may need is little; what it is made to read may be much. Not found, it is told apart by its status. */
const LIMITED = 'ulimit -d 1048576; exec "$0" "$@"'
const NOT_STARTED = new Set([126, 127])

function commandLine({ ripgrep, bubblewrap }: Programs, workspace: Workspace, root: SearchRoot): CommandLine {
  const limited = ['/bin/sh', '-c', LIMITED, ripgrep]
  const [shell = '', ...words] = limited
  if (!bubblewrap) return { program: shell, args: words, cwd: root.folder, jailed: false }
  const system = ['/usr', '/bin', '/lib', '/lib64', '/nix/store', dirname(ripgrep)]
  const args = [
    ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--clearenv'],
    ...system.flatMap((folder) => ['--ro-bind-try', folder, folder]),
    ...['--ro-bind', workspace.real, workspace.real, '--chdir', root.path, '--', ...limited],
  ]
  return { program: bubblewrap, args, cwd: '/', jailed: true }
}

function searchArgs(query: Query): string[] {
  const output = {
    content: ['--json'],
    files_with_matches: ['--files-with-matches', '--null'],
    count: ['--count', '--null'],
  }
  return [
    ...output[query.mode],
    ...SAME_FILES,
    ...(query.mode === 'content' ? [`--before-context=${query.before}`, `--after-context=${query.after}`] : []),
    ...(query.ignoreCase ? ['--ignore-case'] : ['--case-sensitive']),
    ...(query.multiline ? ['--multiline', '--multiline-dotall'] : []),
    ...query.fileNames.map((glob) => `--type-add=wanted:${glob}`),
    ...(query.fileNames.length > 0 ? ['--type=wanted'] : []),
    `--regexp=${query.pattern}`,
    '--',
    './',
  ]
}

async function run(
  { program, args, cwd, jailed }: CommandLine,
  more: readonly string[],
  signal: AbortSignal,
): Promise<{ bytes: Buffer; cut: boolean }> {
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  const child = spawn(program, [...args, ...more], { cwd, env: {}, detached: jailed, stdio })
  const stop = () => (jailed ? endSandbox(child) : child.kill('SIGKILL'))
  signal.addEventListener('abort', stop, { once: true })
  const chunks: Buffer[] = []
  let size = 0
  let complaint = ''
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= MOST_BYTES) chunks.push(chunk)
    else stop()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    if (complaint.length < 2000) complaint += chunk.toString('utf8')
  })
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(unable(`ripgrep did not start: ${cause.message}`, 'set ripgrep: false', cause)),
    )
    child.once('close', resolve)
  }).finally(() => signal.removeEventListener('abort', stop))
  signal.throwIfAborted()
  const cut = size > MOST_BYTES
  if (NOT_STARTED.has(status ?? 0)) throw unable(`ripgrep did not start: ${complaint.trim()}`, 'set ripgrep: false')
  // It ends with nothing above 2 by itself: what it printed is not all.
  if (!cut && (status ?? 3) > 2) throw unable(`ripgrep failed: ${complaint.trim() || `status ${status}`}`)
  // 1 is "nothing found"; 2 with output means that some files could not be read.
  if (!cut && (status ?? 2) > 1 && size === 0) throw unable(`ripgrep failed: ${complaint.trim() || `status ${status}`}`)
  return { bytes: Buffer.concat(chunks), cut }
}

function withoutDot(paths: readonly string[]): string[] {
  return paths.filter((path) => path !== '').map((path) => (path.startsWith('./') ? path.slice(2) : path))
}

function countsOf(bytes: Buffer, { mode }: Query): FileMatches[] {
  const text = bytes.toString('utf8')
  if (mode === 'files_with_matches') {
    return withoutDot(text.split('\0')).map((path) => ({ path, count: 1, lines: [] }))
  }
  const found: FileMatches[] = []
  for (const [, path = '', count = ''] of text.matchAll(/([^\0]+)\0(\d+)\n/g)) {
    found.push({ path: withoutDot([path])[0] ?? path, count: Number(count), lines: [] })
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

function contentOf(bytes: Buffer): FileMatches[] {
  const files = new Map<string, FileMatches>()
  for (const raw of bytes.toString('utf8').split('\n')) {
    const line = jsonOf(raw)
    if (line?.type !== 'match' && line?.type !== 'context') continue
    const path = withoutDot([textOf(line.data.path)])[0] ?? ''
    const file = files.get(path) ?? { path, count: 0, lines: [] }
    files.set(path, file)
    const match = line.type === 'match'
    if (match) file.count++
    const texts = textOf(line.data.lines).replace(/\n$/, '').split('\n')
    for (const [at, text] of texts.entries())
      file.lines.push({ number: (line.data.line_number ?? 1) + at, text, match })
  }
  return [...files.values()]
}

function textOf(text: JsonText | undefined): string {
  return text?.text ?? Buffer.from(text?.bytes ?? '', 'base64').toString('utf8')
}

/** The last line of an output that was cut is no JSON. */
function jsonOf(raw: string): JsonLine | undefined {
  if (raw === '') return undefined
  try {
    return JSON.parse(raw) as JsonLine
  } catch {
    return undefined
  }
}
