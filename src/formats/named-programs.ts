import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { isInFolder } from './is-in-folder.ts'
import { stringLiterals } from './string-literals.ts'

/*
 * Programs of a folder that code names in a string without `./`: `command: 'bin/server'`. What stands in `command` or `args` counts whatever it
 * is; elsewhere only a script or an executable file does, because code also names what it writes.
 */

export async function namedPrograms(folder: string, code: string): Promise<string[]> {
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
