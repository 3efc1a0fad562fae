import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { TroupeError } from '../../errors.ts'
import { markPath } from './file-checks/commit-mark.ts'
import { readOnlyError, storeFullError } from './sqlite-errors.ts'

/** Linux magic numbers of file systems on which file locks or shared memory do not work across machines. */
const NETWORK_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4266872130: 'SMB2',
  4283649346: 'CIFS',
  1397113167: 'AFS',
  1799439955: 'AFS',
  1937076805: 'Coda',
  12805120: 'Ceph',
  198183888: 'Lustre',
  16914839: '9P',
  22092: 'NCP',
  1196443219: 'GPFS',
  428016422: 'BeeGFS',
  18225520: 'GFS2',
  1952539503: 'OCFS2',
}

/** Returns the magic number of the file system a path is on. Tests replace `fs.statfs` with it. */
export type FileSystemType = (path: string) => number

const fileSystemType: FileSystemType = (path) => (process.platform === 'linux' ? statfsSync(path).type : 0)

/**
 * Creates the folder and the empty file of a store, both only for this user: a journal holds conversations and tool results.
 * Rejects symlinks, which a repository could contain, and network file systems, on which the locks of SQLite do not hold. Returns false if there
 * is a file that can be read, but not written.
 */
export function prepareStoreFile(path: string, getType: FileSystemType = fileSystemType): boolean {
  const folder = dirname(path)
  rejectNetworkFileSystem(path, getType(nearestExistingFolder(folder)))
  try {
    const created = createFolder(folder)
    rejectLinks(path)
    accessSync(folder, constants.W_OK)
    if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK)
    else {
      closeSync(openSync(path, 'wx', 0o600))
      if (created || basename(folder) === TROUPE_FOLDER) ignoreInGit(folder)
      if (basename(folder) === TROUPE_FOLDER) restrictToOwner(folder)
    }
    return true
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code
    // Another process creates the same store.
    if (code === 'EEXIST' && existsSync(path)) return true
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
      if (isReadable(path)) return false
      throw readOnlyError(path, thrown)
    }
    if (code === 'ENOSPC' || code === 'EDQUOT') throw storeFullError(path, thrown)
    if (thrown instanceof TroupeError) throw thrown
    throw new TroupeError('store_failed', `cannot create the store folder ${folder}: ${(thrown as Error).message}`, {
      hint: 'choose another path with --store or TROUPE_STORE',
      cause: thrown,
    })
  }
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Creates a folder and its parents; returns false if it exists. Not `mkdir` with `recursive`: under /proc it fails with ENOENT
 * although the parent exists, and Node then tries again for ever.
 */
function createFolder(folder: string): boolean {
  if (existsSync(folder)) {
    if (statSync(folder).isDirectory()) return false
    throw notAFolderError(folder)
  }
  const parent = dirname(folder)
  if (parent !== folder) createFolder(parent)
  try {
    mkdirSync(folder, { mode: 0o700 })
    return true
  } catch (thrown) {
    // Another process was faster.
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST' && existsSync(folder)) return false
    throw thrown
  }
}

/** A folder that `init`, git or an editor created for agent files is open to other users. The folder of another user is left alone. */
function restrictToOwner(folder: string): void {
  if (statSync(folder).uid === process.getuid?.()) chmodSync(folder, 0o700)
}

function notAFolderError(path: string): TroupeError {
  return new TroupeError('store_failed', `${path} is a file, not the folder of a store`, {
    hint: 'choose a folder, or a file ending in .db or .sqlite, with --store or TROUPE_STORE',
  })
}

const TROUPE_FOLDER = '.troupe'

/** Agent and team files of a project are meant to be committed; journals never are. */
const GIT_IGNORE = `# Written by Troupe: journals hold conversations and tool results.
*
!.gitignore
!/agents/
!/agents/**
!/teams/
!/teams/**
!/profile.yaml
`

function ignoreInGit(folder: string): void {
  const path = join(folder, '.gitignore')
  if (!existsSync(path)) writeFileSync(path, GIT_IGNORE, { flag: 'wx' })
}

/** A link would make this process write to a file that somebody else chose (symlink attack). */
function rejectLinks(path: string): void {
  const folder = dirname(path)
  const isLinkedFolder = basename(folder) === TROUPE_FOLDER && lstatSync(folder).isSymbolicLink()
  if (isLinkedFolder) throw linkError(folder)
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`, markPath(path)]) {
    const stat = lstatSync(file, { throwIfNoEntry: false })
    if (stat?.isDirectory()) throw storeIsFolderError(file)
    if (stat && (!stat.isFile() || stat.nlink > 1)) throw linkError(file)
  }
}

function linkError(path: string): TroupeError {
  return new TroupeError('store_failed', `${path} is a link or a special file, not a file of its own`, {
    hint: 'pass the path of the database file itself with --store or TROUPE_STORE',
  })
}

function storeIsFolderError(path: string): TroupeError {
  return new TroupeError('store_failed', `the store ${path} is a folder`, {
    hint: 'pass a database file with --store or TROUPE_STORE',
  })
}

function rejectNetworkFileSystem(path: string, type: number): void {
  const name = NETWORK_FILE_SYSTEMS[type >>> 0]
  if (name === undefined) return
  throw new TroupeError('store_network', `${path} is on a network file system (${name})`, {
    hint: 'file locks are not reliable there; choose a path on a local disk with --store or TROUPE_STORE',
  })
}

function nearestExistingFolder(folder: string): string {
  const parent = dirname(folder)
  return existsSync(folder) || parent === folder ? folder : nearestExistingFolder(parent)
}
