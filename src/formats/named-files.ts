import { constants } from 'node:fs'
import { open, readdir, readFile, realpath } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { parseJson } from '../schema/json-value.ts'
import { isInFolder } from './user-home.ts'

/*
 * The files that a trusted file names, without a parser. Over-approximates on purpose: a file that it misses could change without a question.
 * 1. Of a team file: the YAML files of its sub-teams.
 * 2. Of code: relative paths in strings, programs of its folder (`command: 'bin/server'`), and what a `package.json` gives a name (`#tools`).
 */

/** The paths of files that a file may load or start. */
export async function filesNamedIn(folder: string, path: string, content: Buffer): Promise<string[]> {
  if (CODE_FILE.test(path)) return namedFiles(folder, path, content.toString('utf8'))
  // A team file names the files of its sub-teams.
  if (!YAML_FILE.test(path) || content.length > MAX_YAML_BYTES) return []
  const words = content.toString('utf8').split(/[^\w@./-]+/)
  const names = words.filter((word) => word.length < 300 && YAML_FILE.test(word))
  const bases = [dirname(path), dirname(await realpath(path))]
  return names.flatMap((name) => bases.map((base) => resolve(base, name)))
}

const YAML_FILE = /\.ya?ml$/i
const MAX_YAML_BYTES = 1024 * 1024
const CODE_FILE = /\.[cm]?[jt]sx?$/

/**
 * The paths of files that code may load or start: every string that looks like a relative path, or that names a program below the folder.
 * Over-approximates on purpose. Node resolves imports of a symlink from its target, and `require` adds extensions.
 */
async function namedFiles(folder: string, path: string, code: string): Promise<string[]> {
  const bases = [...new Set([dirname(path), dirname(await realpath(path)), folder])]
  const modules = [...stringLiterals(code)].filter((literal) => RELATIVE_PATH.test(literal)).flatMap(modulePaths)
  const relativeFiles = bases.flatMap((base) => modules.map((name) => resolve(base, name)))
  const programs = await Promise.all(bases.map((base) => namedPrograms(base, code)))
  const packageFiles = await Promise.all(bases.map((base) => packageImportFiles(base, code)))
  return [...relativeFiles, ...programs.flat(), ...packageFiles.flat()]
}

/** The files that Node may load for a path. */
export function modulePaths(name: string): string[] {
  return /\.\w+$/.test(name) ? [name] : REQUIRED_ENDINGS.map((ending) => name + ending)
}

const RELATIVE_PATH = /^\.{1,2}\//
const REQUIRED_ENDINGS = ['', '.js', '.ts', '.cjs', '.json', '/index.js', '/index.ts', '/index.json']

/** String literals of code: text between two equal quotes of a line counts, also in comments and between two literals, so that an apostrophe hides nothing. */
function stringLiterals(code: string): Set<string> {
  const found = new Set<string>()
  for (const line of code.split('\n'))
    for (const quote of QUOTES)
      for (const text of line.split(quote).slice(1, -1)) if (isPossibleName(text)) found.add(text)
  return found
}

const QUOTES = ["'", '"', '`'] as const
const MAX_LITERAL_CHARS = 500

function isPossibleName(text: string): boolean {
  return text !== '' && text.length <= MAX_LITERAL_CHARS && !text.includes('\0')
}

/**
 * Programs of a folder that code names in a string without `./`: `command: 'bin/server'`. What stands in `command` or `args` counts whatever it
 * is; elsewhere only a script or an executable file does, because code also names what it writes.
 */
async function namedPrograms(folder: string, code: string): Promise<string[]> {
  const started = [...code.matchAll(STARTED)].map(([, text = '']) => text).join('\n')
  const mentioned = await pathsBelow(folder, stringLiterals(code.replaceAll(PACKAGE_IMPORT, '')))
  const programs = await Promise.all(mentioned.map(async (path) => ((await isProgram(path)) ? [path] : [])))
  return [...(await pathsBelow(folder, stringLiterals(started))), ...programs.flat()]
}

const STARTED = /\b(?:command|args)\b['"]?\s*[:=]\s*(\[[^\]]{0,5000}\]|[^,\n]{0,500})/g
const PACKAGE_IMPORT = /\b(?:from|import)\s*(['"])[\w@][\w@/-]*\1/g
const SCRIPT_FILE = /\.(?:[cm]?[jt]sx?|py|rb|pl|php|lua|sh|bash|zsh|ps1|bat|cmd)$/i

/** The paths that strings may name below a folder. Looks only at the names in the folder itself: code has many strings. */
async function pathsBelow(folder: string, literals: ReadonlySet<string>): Promise<string[]> {
  const entries = new Set((await readdir(folder).catch(() => [])).map(comparableName))
  const paths = new Set([...literals].flatMap(possibleNames).map((name) => resolve(folder, name)))
  return [...paths]
    .filter((path) => path !== folder && isInFolder(folder, path))
    .filter((path) => entries.has(comparableName(relative(folder, path).split(sep, 1)[0] ?? '')))
}

/** The string, the first word of a command line, and the path after a folder: `${import.meta.dirname}/server.mjs`. */
function possibleNames(literal: string): string[] {
  const [word = ''] = literal.split(' ', 1)
  return [literal, word, literal.replace(/^.*\}/, '').replace(/^\/+/, '')]
}

/** Some file systems ignore case, or write accents in another way. */
function comparableName(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

async function isProgram(path: string): Promise<boolean> {
  if (SCRIPT_FILE.test(path)) return true
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
  if (!file) return false
  try {
    const found = await file.stat()
    if (!found.isFile()) return false
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0)
    return (found.mode & 0o111) !== 0 || buffer.toString() === '#!'
  } finally {
    await file.close()
  }
}

/*
 * Names that a package gives to its own files: `#tools` by `imports`, and `my-app/tools` by `exports` of its `package.json`. The targets of all
 * conditions count, because which of them Node uses depends on how it was started.
 */

/** The files that names in the code of `folder` may stand for, and the `package.json` that says so. */
async function packageImportFiles(folder: string, code: string): Promise<string[]> {
  const names = [...code.matchAll(PACKAGE_NAME)].map(([, , name = '']) => name)
  if (names.length === 0) return []
  const manifest = await nearestManifest(folder)
  if (!manifest) return []
  const { imports, exports, name: ownName } = manifest.content
  const files = names.flatMap((name) => {
    if (name.startsWith('#')) return targetsOf(imports, name)
    if (typeof ownName !== 'string' || (name !== ownName && !name.startsWith(`${ownName}/`))) return []
    return targetsOf(subpaths(exports), `.${name.slice(ownName.length)}`)
  })
  return files.length === 0 ? [] : [manifest.path, ...files.map((file) => resolve(dirname(manifest.path), file))]
}

const PACKAGE_NAME = /(['"`])(#[^'"`\s]{1,300}|@?[a-z0-9][\w.~/-]{0,300})\1/g

interface Manifest {
  path: string
  content: { name?: unknown; imports?: unknown; exports?: unknown }
}

/** As in Node, only the nearest `package.json` counts. */
async function nearestManifest(folder: string): Promise<Manifest | undefined> {
  for (let current = folder; ; current = dirname(current)) {
    const path = join(current, 'package.json')
    const text = await readFile(path, 'utf8').catch(() => undefined)
    if (text !== undefined) return { path, content: Object(parseJson(text)) }
    if (dirname(current) === current) return undefined
  }
}

/** `exports` may be the target of `.` itself, or its conditions. */
function subpaths(exports: unknown): unknown {
  const isMap =
    typeof exports === 'object' && exports !== null && Object.keys(exports).some((key) => key.startsWith('.'))
  return isMap ? exports : { '.': exports }
}

/** The relative paths that a name stands for, by an equal key or one with `*`. */
function targetsOf(map: unknown, name: string): string[] {
  if (typeof map !== 'object' || map === null) return []
  return Object.entries(map).flatMap(([key, target]) => {
    const [head = '', tail] = key.split('*', 2)
    const isMatch =
      tail === undefined
        ? key === name
        : name.length >= head.length + tail.length && name.startsWith(head) && name.endsWith(tail)
    if (!isMatch) return []
    const part = tail === undefined ? '' : name.slice(head.length, name.length - tail.length)
    return stringsIn(target)
      .filter((path) => path.startsWith('./'))
      .map((path) => path.replaceAll('*', part))
  })
}

/** All strings in a nested value. */
export function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}
