import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileProblem } from './file-problem.ts'

export interface FileTree {
  /** Paths in order: the files of a folder before those below it, each by name. */
  files: string[]
  problems: FileProblem[]
}

/** Folders that hold other people's files, or none that are meant. */
const SKIPPED_FOLDERS = new Set(['node_modules', '.git', '.venv', '__pycache__'])
const MAX_FILES = 10_000
const MAX_DEPTH = 24

/** The files below a folder whose names fit. Links are followed once; what cannot be read costs only itself. */
export async function listFilesBelow(folder: string, fits: (name: string) => boolean): Promise<FileTree> {
  const tree: FileTree = { files: [], problems: [] }
  const visited = new Set([await realpath(folder)])
  await walk(tree, { folder, fits, visited, depth: 0 })
  return tree
}

interface WalkState {
  folder: string
  fits(name: string): boolean
  visited: Set<string>
  depth: number
}

async function walk(tree: FileTree, place: WalkState): Promise<void> {
  const { folder, fits, visited, depth } = place
  const entries = await readdir(folder, { withFileTypes: true })
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  const below: string[] = []
  for (const entry of entries) {
    const path = join(folder, entry.name)
    const kind = await entryKind(entry, path)
    if (kind === 'folder') below.push(path)
    else if (!fits(entry.name)) continue
    else if (kind === 'file') tree.files.push(path)
    else tree.problems.push({ level: 'warning', path, line: 1, message: `cannot be read: ${kind}` })
    if (tree.files.length <= MAX_FILES) continue
    tree.problems.push({ level: 'error', path: folder, line: 1, message: `holds more than ${MAX_FILES} files` })
    return
  }
  for (const path of below) {
    const real = await realpath(path)
    if (visited.has(real) || SKIPPED_FOLDERS.has(path.slice(folder.length).replace(/^[\\/]/, ''))) continue
    visited.add(real)
    if (depth >= MAX_DEPTH || tree.files.length > MAX_FILES) continue
    try {
      await walk(tree, { ...place, folder: path, depth: depth + 1 })
    } catch (error) {
      tree.problems.push({ level: 'error', path, line: 1, message: `cannot be read: ${(error as Error).message}` })
    }
  }
}

/** What an entry is, through links; otherwise why it is neither. */
async function entryKind(entry: Dirent, path: string): Promise<string> {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'folder'
  if (!entry.isSymbolicLink()) return 'neither a file nor a folder'
  try {
    const target = await stat(path)
    return target.isFile() ? 'file' : target.isDirectory() ? 'folder' : 'neither a file nor a folder'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ELOOP' ? 'a link to itself' : 'a link to nowhere'
  }
}
