import type { Dirent } from 'node:fs'
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { TROUPE_FOLDER } from '../files/check-protected.ts'
import { NO_FOLLOW } from '../files/resolve-path.ts'
import type { IgnoreChain } from './gitignore.ts'
import { isIgnored, parseIgnoreFile } from './gitignore.ts'

/** Never searched, wherever they stand. */
export const SKIPPED_NAMES: readonly string[] = ['.git', TROUPE_FOLDER]

/** A file that the walk came to. `path` is good until the next one. */
export interface WalkedFile {
  path: string
  /** The names from where the walk began. */
  relativePath: string
}

export interface WalkOptions {
  /** The folder to begin in, as an open folder's path. */
  folder: string
  segments: readonly string[]
  /** The rules of the folders above it. */
  ignoreRules: IgnoreChain
  signal: AbortSignal
}

const SLICE_MS = 12

/**
 * Every file below a folder that no `.gitignore` hides, hidden ones included, links left alone. Works in slices: other
 * sessions get their turn every few milliseconds.
 */
export async function walkFiles(from: WalkOptions, visit: (found: WalkedFile) => boolean | undefined): Promise<void> {
  let since = performance.now()
  const enter = async (
    folder: string,
    names: readonly string[],
    below: string,
    above: IgnoreChain,
  ): Promise<boolean> => {
    if (performance.now() - since > SLICE_MS) {
      await new Promise((resolve) => setImmediate(resolve))
      from.signal.throwIfAborted()
      since = performance.now()
    }
    const fd = openFolder(folder)
    if (fd === undefined) return true
    try {
      const here = process.platform === 'linux' ? `/proc/self/fd/${fd}` : folder
      const entries = listEntries(here)
      const chain = withIgnoreFile(above, here, names.length, entries)
      for (const entry of entries) {
        if (SKIPPED_NAMES.includes(entry.name)) continue
        const path = [...names, entry.name]
        const isFolder = entry.isDirectory()
        if (!isFolder && !entry.isFile()) continue
        if (isIgnored(chain, path, isFolder)) continue
        const below_here = below === '' ? entry.name : `${below}/${entry.name}`
        const goOn = isFolder
          ? await enter(`${here}/${entry.name}`, path, below_here, chain)
          : visit({ path: `${here}/${entry.name}`, relativePath: below_here }) !== false
        if (!goOn) return false
      }
      return true
    } finally {
      closeSync(fd)
    }
  }
  await enter(from.folder, from.segments, '', from.ignoreRules)
}

function openFolder(folder: string): number | undefined {
  try {
    return openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | NO_FOLLOW)
  } catch {
    // Gone, swapped for a link, or not ours to read: not part of what can be searched.
    return undefined
  }
}

function listEntries(folder: string): Dirent[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch {
    return []
  }
}

function withIgnoreFile(above: IgnoreChain, folder: string, depth: number, entries: readonly Dirent[]): IgnoreChain {
  if (!entries.some((entry) => entry.name === '.gitignore' && entry.isFile())) return above
  const text = readSmallFile(`${folder}/.gitignore`)
  const file = text === undefined ? undefined : parseIgnoreFile(text)
  return file ? [...above, { depth, file }] : above
}

/** A text file that is not unreasonably large, never through a link. */
export function readSmallFile(path: string): string | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | NO_FOLLOW)
    const stat = fstatSync(fd)
    return stat.isFile() && stat.size <= 1024 * 1024 ? readFileSync(fd, 'utf8') : undefined
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
