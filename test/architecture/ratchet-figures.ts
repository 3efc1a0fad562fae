import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { entrySources, publicNames } from '../public-surface/surface.ts'
import type { SourceFile } from '../support/source-file.ts'
import { readSource } from '../support/source-file.ts'
import { duplicateFileNames } from './duplicates.ts'
import type { ProcessFigures } from './process-figures.ts'
import { maxSmallFileLines, smallFilesWithOneImporter } from './small-files.ts'

/** What is counted in each place: a number, or names with spaces between them. */
export type Places = Record<string, number | string>
/** By title. */
export type RatchetFigures = Record<string, Places>

/** Everything else below src and web is executed, bundled or sent to a model: style sheets, pages, JSON and prompts, too. */
const NOT_CODE = /\.test\.tsx?$|\.golden\.txt$|\/SPEC\.md$|\/tsconfig\.json$|^src\/testing\/|\/\.[^/]*$/
const THIRD_STATE = /isImported|imported-runs|imported: true|ImportedRuns/

/** Needs neither a build nor git. A tree without package.json or command line lacks the figures that are counted there. */
export function measureRatchets(root: string): RatchetFigures {
  const files = ['src', 'web'].flatMap((folder) => readFolder(folder, root))
  const code = files.filter(({ path }) => !NOT_CODE.test(path))
  const codeIn = (folder: string) => code.filter(({ path }) => path.startsWith(`${folder}/`))
  const ofStoreState = codeIn('src').filter(({ source }) => THIRD_STATE.test(source))
  const sources = files.filter(({ path }) => /^src\/.*\.ts$/.test(path) && !path.includes('/fixtures/'))
  const specs = files.filter(({ path }) => path.endsWith('/SPEC.md'))
  if (existsSync(join(root, 'SPEC.md'))) specs.push({ path: 'SPEC.md', source: readSource('SPEC.md', root) })
  return {
    'code lines of src': sumBy(codeIn('src'), folderOf, codeLines),
    'code lines of web': sumBy(codeIn('web'), folderOf, codeLines),
    'code lines of src/kernel': sumBy(codeIn('src/kernel'), folderOf, codeLines),
    'words of SPEC.md files': sumBy(specs, folderOf, ({ source }) => words(source).length),
    'files of the third state of stores': { src: ofStoreState.map(({ path }) => path).join(' ') },
    'file names that several folders share': {
      src: duplicateFileNames(sources)
        .map(({ name }) => name)
        .join(' '),
    },
    [`files of ${maxSmallFileLines} lines or fewer with one importer`]: {
      src: smallFilesWithOneImporter(sources)
        .map(({ path }) => path)
        .join(' '),
    },
    ...(existsSync(join(root, 'package.json')) && { 'public names': namesByEntry(root) }),
    ...(existsSync(join(root, 'src/surfaces/cli/main.ts')) && measureProcess(root)),
  }
}

function readFolder(folder: string, root: string): SourceFile[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)).replaceAll('\\', '/'))
    .sort()
    .map((path) => ({ path, source: readSource(path, root) }))
}

export function codeLines({ source }: SourceFile): number {
  return source.split('\n').filter((line) => /^\s*(?!\/\/|\/\*|\*)\S/.test(line)).length
}

export function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

function folderOf({ path }: { path: string }): string {
  return path.split('/').slice(0, -1).slice(0, 3).join('/') || '.'
}

function sumBy<T>(items: readonly T[], placeOf: (item: T) => string, count: (item: T) => number): Places {
  const places: Record<string, number> = {}
  for (const item of items) places[placeOf(item)] = (places[placeOf(item)] ?? 0) + count(item)
  return places
}

function namesByEntry(root: string): Places {
  const { exports = {} } = JSON.parse(readSource('package.json', root)) as { exports?: Record<string, unknown> }
  const names = (source: string) => publicNames(source, (path) => readSource(path, root)).map(({ name }) => name)
  return Object.fromEntries(entrySources(exports).map(({ entry, source }) => [entry, names(source).join(' ')]))
}

/** No configuration of the user is counted: the process gets an empty home folder. */
function measureProcess(root: string): RatchetFigures {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-figures-'))
  const script = fileURLToPath(new URL('process-figures.ts', import.meta.url))
  try {
    const env = { PATH: process.env.PATH, HOME: folder }
    const output = execFileSync(process.execPath, [script, root], { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' })
    const { loaded, commands, events, tools } = JSON.parse(output.split('\n').at(-2) ?? '') as ProcessFigures
    const one = () => 1
    return {
      commands: sumBy(
        commands.filter(({ isGroup }) => !isGroup),
        ({ path }) => path,
        one,
      ),
      'places of flags': Object.fromEntries(commands.map(({ path, flags }) => [path, flags.join(' ')])),
      'files loaded by troupe run task': sumBy(loaded, (path) => folderOf({ path }), one),
      'events of a consultation': sumBy(events, (type) => type, one),
      'bytes of the tools in a request': sumBy(
        tools,
        ({ name }) => name,
        (tool) => Buffer.byteLength(JSON.stringify(tool)),
      ),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
