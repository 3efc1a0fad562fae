import type { Dirent, Stats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { deniedPathMatcher } from '../../judgement/permission/path-rule.ts'
import type { CallScope } from '../../kernel/tool.ts'
import { accessDeniedError, errorCode } from '../tool-errors.ts'
import { isHiddenPath } from './protected-paths.ts'
import type { Workspace } from './workspace.ts'

/*
 * Prevents bypassing permission rules by a hard link: another name of `.env` has the same content, and no symlink shows it.
 * 1. A file with one name needs no check. Otherwise its device and inode are compared with those of all files in the workspace that
 *    the rules deny, and with those of the run store; the workspace is walked once for a call.
 * 2. Fails closed: when the workspace is too large to be walked, or a folder cannot be listed, every file with several names is denied.
 * 3. A rule that matches the path itself has already been applied to the call, with the person's answer.
 */

const MAX_ENTRIES = 200_000
const HIDDEN = 'the run store'

interface DeniedFile {
  path: string
  /** The globs that match it; `HIDDEN` for the run store. */
  rules: readonly string[]
}

/** Denied files by device and inode; `incomplete` tells why not all could be found. */
interface DeniedFiles {
  byInode: ReadonlyMap<string, readonly DeniedFile[]>
  incomplete?: string
}

type FileIdentity = Pick<Stats, 'dev' | 'ino' | 'nlink'>

/** Tells why a file must not be read under this name; `undefined` when it may be. */
export type HardLinkCheck = (path: string, stat: FileIdentity) => Promise<string | undefined>

export function createHardLinkCheck(
  workspace: Workspace,
  { excluded_globs = [] }: CallScope,
  maxEntries = MAX_ENTRIES,
): HardLinkCheck {
  const matchers = excluded_globs.map((glob) => ({ glob, matches: deniedPathMatcher(glob) }))
  const rulesFor = (path: string) => [
    ...matchers.flatMap(({ glob, matches }) => (matches(path) ? glob : [])),
    ...(isHiddenPath(workspace, path.split('/')) ? [HIDDEN] : []),
  ]
  const { realPath, hide = [] } = workspace
  const folders = matchers.length > 0 ? [''] : hide.map((path) => relative(realPath, path))
  let deniedFiles: Promise<DeniedFiles> | undefined
  return async (path, stat) => {
    if (stat.nlink < 2 || folders.length === 0) return undefined
    deniedFiles ??= findDeniedFiles({ realPath, folders, maxEntries }, rulesFor)
    const { byInode, incomplete } = await deniedFiles
    const own = rulesFor(path)
    const denied = byInode.get(inodeKey(stat))?.find(({ rules }) => rules.some((rule) => !own.includes(rule)))
    if (denied) return `it is a hard link to '${denied.path}', which is denied by ${denied.rules.join(', ')}`
    return (
      incomplete && `it has ${stat.nlink} hard links, and whether a denied file is among them is unknown: ${incomplete}`
    )
  }
}

/** Throws `denied` for another name of a file that is denied to the call. */
export async function assertNoDeniedLink(
  workspace: Workspace,
  file: { path: string; stat: FileIdentity },
  call: CallScope,
): Promise<void> {
  const reason = await createHardLinkCheck(workspace, call)(file.path, file.stat)
  if (reason !== undefined)
    throw accessDeniedError(
      `'${file.path}' cannot be used: ${reason}`,
      'permission rules hold for every name of a file',
    )
}

/** Those of the paths that are other names of files that are denied to the call. */
export async function findDeniedLinks(
  workspace: Workspace,
  paths: readonly string[],
  call: CallScope,
): Promise<Set<string>> {
  const denied = new Set<string>()
  if ((call.excluded_globs ?? []).length === 0 && (workspace.hide ?? []).length === 0) return denied
  const check = createHardLinkCheck(workspace, call)
  for (const path of paths) {
    const stat = await lstat(join(workspace.realPath, path)).catch(() => undefined)
    if (stat && (await check(path, stat)) !== undefined) denied.add(path)
  }
  return denied
}

function inodeKey({ dev, ino }: FileIdentity): string {
  return `${dev}:${ino}`
}

interface DeniedFileSearch {
  realPath: string
  folders: readonly string[]
  maxEntries: number
}

async function findDeniedFiles(
  { realPath, folders, maxEntries }: DeniedFileSearch,
  rulesFor: (path: string) => readonly string[],
): Promise<DeniedFiles> {
  const byInode = new Map<string, DeniedFile[]>()
  const pending = [...folders]
  let entryCount = 0
  let incomplete: string | undefined
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const entries = await listFolder(join(realPath, folder))
    if (entries === undefined) incomplete = `the folder '${folder}' cannot be listed`
    entryCount += entries?.length ?? 0
    if (entryCount > maxEntries) return { byInode, incomplete: `the workspace has more than ${maxEntries} files` }
    for (const entry of entries ?? []) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) pending.push(path)
      else if (entry.isFile()) await addDeniedFile(byInode, { root: realPath, path, rules: rulesFor(path) })
    }
  }
  return { byInode, ...(incomplete === undefined ? undefined : { incomplete }) }
}

async function addDeniedFile(
  byInode: Map<string, DeniedFile[]>,
  { root, path, rules }: DeniedFile & { root: string },
): Promise<void> {
  if (rules.length === 0) return
  const stat = await lstat(join(root, path)).catch(() => undefined)
  if (!stat || stat.nlink < 2) return
  const key = inodeKey(stat)
  byInode.set(key, [...(byInode.get(key) ?? []), { path, rules }])
}

/** The entries of a folder; none when it was deleted meanwhile, `undefined` when it cannot be listed. */
async function listFolder(path: string): Promise<Dirent[] | undefined> {
  try {
    return await readdir(path, { withFileTypes: true })
  } catch (thrown) {
    return ['ENOENT', 'ENOTDIR'].includes(errorCode(thrown)) ? [] : undefined
  }
}
