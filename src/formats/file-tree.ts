import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileProblem } from './file-text.ts'

export interface FileTree {
  /** Paths sorted by name, the files of a folder before those of its subfolders. */
  files: string[]
  problems: FileProblem[]
}

/** Folders with third-party or generated files. */
export const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['node_modules', '.git', '.venv', '__pycache__'])
const MAX_FILES = 10_000
const MAX_DEPTH = 24

/**
 * Lists the files below a folder whose names match. Each real folder is visited once, so symlink loops end; an unreadable
 * entry is reported and skipped.
 */
export async function listFilesBelow(folder: string, matches: (name: string) => boolean): Promise<FileTree> {
  const tree: FileTree = { files: [], problems: [] }
  const visited = new Set([await realpath(folder)])
  await walk(tree, { folder, matches, visited, depth: 0 })
  return tree
}

interface WalkState {
  folder: string
  matches(name: string): boolean
  visited: Set<string>
  depth: number
}

async function walk(tree: FileTree, state: WalkState): Promise<void> {
  const { folder, matches, visited, depth } = state
  const entries = await readdir(folder, { withFileTypes: true })
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  const subfolders: string[] = []
  for (const entry of entries) {
    const path = join(folder, entry.name)
    const kind = await entryKind(entry, path)
    if (kind === 'folder') subfolders.push(path)
    else if (!matches(entry.name)) continue
    else if (kind === 'file') tree.files.push(path)
    else tree.problems.push({ level: 'warning', path, line: 1, message: `cannot be read: ${kind}` })
    if (tree.files.length <= MAX_FILES) continue
    tree.problems.push({ level: 'error', path: folder, line: 1, message: `contains more than ${MAX_FILES} files` })
    return
  }
  for (const path of subfolders) {
    const real = await realpath(path)
    if (visited.has(real) || SKIPPED_FOLDERS.has(path.slice(folder.length).replace(/^[\\/]/, ''))) continue
    visited.add(real)
    if (depth >= MAX_DEPTH || tree.files.length > MAX_FILES) continue
    try {
      await walk(tree, { ...state, folder: path, depth: depth + 1 })
    } catch (error) {
      tree.problems.push({ level: 'error', path, line: 1, message: `cannot be read: ${(error as Error).message}` })
    }
  }
}

/** `file` or `folder`, with symlinks resolved, or the reason why it is neither. */
async function entryKind(entry: Dirent, path: string): Promise<string> {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'folder'
  if (!entry.isSymbolicLink()) return 'neither a file nor a folder'
  try {
    const target = await stat(path)
    return target.isFile() ? 'file' : target.isDirectory() ? 'folder' : 'neither a file nor a folder'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ELOOP' ? 'symlink loop' : 'broken symlink'
  }
}
