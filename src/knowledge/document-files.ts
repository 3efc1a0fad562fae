import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { TroupeError } from '../errors.ts'
import { sha256 } from '../kernel/hash.ts'

/** Found in folders. Another text file is read when its path is given. */
const DOCUMENT_FILE = /\.(?:md|markdown|mdx|txt|rst|adoc)$/i
const SKIPPED_FOLDER = /^(?:\..*|node_modules|dist|build|target|vendor)$/
const MAX_FILE_BYTES = 5_000_000

export interface DocumentFile {
  /** Relative to the project, with `/`. */
  path: string
  text: string
  /** Of the bytes. */
  hash: string
}

export interface UnreadableFile {
  path: string
  reason: string
}

export interface FoundFiles {
  /** Relative to the project, with `/`; in order. */
  files: string[]
  /** Folders that were searched, relative to the project; the project itself is empty. */
  folders: string[]
  skipped: UnreadableFile[]
}

/** The files that paths name, and the documents in the folders they name. Links must lead to a place inside the project (path traversal). */
export async function findDocuments(root: string, paths: readonly string[]): Promise<FoundFiles> {
  const realRoot = await realpath(root)
  const found: FoundFiles = { files: [], folders: [], skipped: [] }
  for (const path of paths) {
    const real = await resolveInside(realRoot, path)
    if ((await stat(real)).isDirectory()) {
      found.folders.push(toProjectPath(realRoot, real))
      await searchFolder(realRoot, real, found)
    } else found.files.push(toProjectPath(realRoot, real))
  }
  return { ...found, files: [...new Set(found.files)].sort() }
}

async function searchFolder(root: string, folder: string, found: FoundFiles): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (!SKIPPED_FOLDER.test(entry.name)) await searchFolder(root, path, found)
    } else if (DOCUMENT_FILE.test(entry.name)) {
      // A link that leads out of the project is left out, not followed; a link to a folder could be a cycle.
      const real = await realpath(path).catch(() => undefined)
      const isFile = real !== undefined && isWithin(root, real) && (await stat(real)).isFile()
      if (isFile) found.files.push(toProjectPath(root, real))
      else
        found.skipped.push({ path: toProjectPath(root, path), reason: 'a link that leads to no file of the project' })
    }
  }
}

/** Reads a text file. Rejects with `invalid_input` if it is binary or too large. */
export async function readDocument(root: string, path: string): Promise<DocumentFile> {
  const real = await resolveInside(await realpath(root), resolve(root, path))
  const { size } = await stat(real)
  if (size > MAX_FILE_BYTES)
    throw unreadableError(
      path,
      `has ${size} bytes, more than ${MAX_FILE_BYTES}`,
      'split it, or add the parts that matter',
    )
  const bytes = await readFile(real)
  const text = decodeText(bytes)
  if (text === undefined)
    throw unreadableError(path, 'is not a text file in UTF-8', 'convert it to Markdown or plain text and add that')
  return { path, text, hash: sha256(bytes) }
}

export async function documentExists(root: string, path: string): Promise<boolean> {
  return stat(resolve(root, path)).then(
    (found) => found.isFile(),
    () => false,
  )
}

function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

async function resolveInside(root: string, path: string): Promise<string> {
  const real = await realpath(resolve(path)).catch(() => undefined)
  if (real === undefined)
    throw new TroupeError('invalid_input', `no file or folder '${path}'`, {
      hint: 'check the path; it is relative to the working folder',
    })
  if (isWithin(root, real)) return real
  throw new TroupeError('invalid_input', `'${path}' is not inside the project ${root}`, {
    hint: 'copy it into the project, or run the command in the other project; links are followed before this check',
  })
}

function unreadableError(path: string, problem: string, hint: string): TroupeError {
  return new TroupeError('invalid_input', `the file '${path}' ${problem}`, { hint })
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** A path relative to the project, with `/` on every system. */
function toProjectPath(root: string, path: string): string {
  return relative(root, path).split(sep).join('/')
}
