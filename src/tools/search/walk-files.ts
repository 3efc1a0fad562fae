import type { Dirent } from 'node:fs'
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { TROUPE_FOLDER } from '../files/check-protected.ts'
import { NO_FOLLOW } from '../files/resolve-path.ts'
import type { IgnoreChain } from './gitignore.ts'
import { isIgnored, parseIgnoreFile } from './gitignore.ts'

/** Names that are never searched, at any depth. */
export const SKIPPED_NAMES: readonly string[] = ['.git', TROUPE_FOLDER]

export interface WalkedFile {
  /** Valid only during the `visit` call: it goes through an open descriptor. */
  path: string
  /** Relative to the folder where the walk starts. */
  relativePath: string
}

export interface WalkOptions {
  /** The start folder, as a path through an open descriptor. */
  folder: string
  segments: readonly string[]
  /** The ignore files of the parent folders. */
  ignoreRules: IgnoreChain
  signal: AbortSignal
}

interface WalkedFolder {
  folder: string
  segments: readonly string[]
  relativePath: string
  ignoreRules: IgnoreChain
}

const SLICE_MS = 12

/**
 * Visits every file below a folder that no `.gitignore` excludes, including hidden files. Never follows symlinks. Works in
 * time slices and yields to the event loop, so that a large tree does not block other sessions. `visit` returns `false` to
 * stop.
 */
export async function walkFiles(
  { folder, segments, ignoreRules, signal }: WalkOptions,
  visit: (file: WalkedFile) => boolean | undefined,
): Promise<void> {
  let sliceStart = performance.now()
  const walkFolder = async (current: WalkedFolder): Promise<boolean> => {
    if (performance.now() - sliceStart > SLICE_MS) {
      await new Promise((resolve) => setImmediate(resolve))
      signal.throwIfAborted()
      sliceStart = performance.now()
    }
    const fd = openFolder(current.folder)
    if (fd === undefined) return true
    try {
      const openPath = process.platform === 'linux' ? `/proc/self/fd/${fd}` : current.folder
      const entries = listEntries(openPath)
      const rules = addIgnoreFile({ ...current, folder: openPath }, entries)
      for (const entry of entries) {
        if (SKIPPED_NAMES.includes(entry.name)) continue
        const entrySegments = [...current.segments, entry.name]
        const isFolder = entry.isDirectory()
        if (!isFolder && !entry.isFile()) continue
        if (isIgnored(rules, entrySegments, isFolder)) continue
        const path = `${openPath}/${entry.name}`
        const relativePath = current.relativePath === '' ? entry.name : `${current.relativePath}/${entry.name}`
        const shouldContinue = isFolder
          ? await walkFolder({ folder: path, segments: entrySegments, relativePath, ignoreRules: rules })
          : visit({ path, relativePath }) !== false
        if (!shouldContinue) return false
      }
      return true
    } finally {
      closeSync(fd)
    }
  }
  await walkFolder({ folder, segments, relativePath: '', ignoreRules })
}

function openFolder(folder: string): number | undefined {
  try {
    return openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | NO_FOLLOW)
  } catch {
    // Deleted, replaced by a symlink, or not readable.
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

function addIgnoreFile(
  { folder, segments, ignoreRules }: Omit<WalkedFolder, 'relativePath'>,
  entries: readonly Dirent[],
): IgnoreChain {
  if (!entries.some((entry) => entry.name === '.gitignore' && entry.isFile())) return ignoreRules
  const text = readSmallFile(`${folder}/.gitignore`)
  const file = text === undefined ? undefined : parseIgnoreFile(text)
  return file ? [...ignoreRules, { depth: segments.length, file }] : ignoreRules
}

/** Reads a regular file up to 1 MB without following symlinks; pipes and devices would block or never end. */
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
