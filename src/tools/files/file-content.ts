import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open, rename, unlink } from 'node:fs/promises'
import { sha256 } from '../../kernel/hash.ts'
import { accessDeniedError, errorCode, invalidCallError } from '../tool-errors.ts'
import type { ResolvedPath } from './resolve-path.ts'
import { concurrentChangeError, NO_FOLLOW, notFoundError } from './resolve-path.ts'

/** The largest file that is read as a whole: to be edited, or compared with what was read. */
export const MAX_WHOLE_FILE_BYTES = 16 * 1024 * 1024

/** A regular file opened for reading; links, folders, devices, pipes and sockets are refused. */
export async function openRegularFile(spot: ResolvedPath): Promise<{ handle: FileHandle; stat: Stats }> {
  const shown = { shown: spot.segments.join('/') || '.' }
  if (spot.stat === undefined) throw notFoundError(shown)
  if (spot.stat.isDirectory()) throw invalidCallError(`'${shown.shown}' is a folder`, 'list it with Glob')
  const handle = await openForReading(spot, shown)
  const stat = await handle.stat()
  if (stat.isFile()) return { handle, stat }
  await handle.close()
  throw accessDeniedError(`'${shown.shown}' is not a regular file`)
}

async function openForReading(spot: ResolvedPath, shown: { shown: string }): Promise<FileHandle> {
  try {
    // Without O_NONBLOCK, opening a pipe would wait for someone to write to it.
    return await open(spot.path, constants.O_RDONLY | constants.O_NONBLOCK | NO_FOLLOW)
  } catch (thrown) {
    if (errorCode(thrown) === 'ELOOP') throw concurrentChangeError(shown)
    if (errorCode(thrown) === 'ENOENT') throw notFoundError(shown)
    if (errorCode(thrown) === 'EACCES') throw invalidCallError(`'${shown.shown}' may not be read by this user`)
    if (errorCode(thrown) === 'ENXIO') throw accessDeniedError(`'${shown.shown}' is not a regular file`)
    throw thrown
  }
}

/** All bytes of a file and their hash; nothing if there is no such file. */
export async function readFileWithHash(
  spot: ResolvedPath,
): Promise<{ bytes: Buffer; hash: string; stat: Stats } | undefined> {
  if (spot.stat === undefined) return undefined
  const { handle, stat } = await openRegularFile(spot)
  try {
    if (stat.size > MAX_WHOLE_FILE_BYTES) {
      throw invalidCallError(
        `'${spot.segments.join('/')}' has ${stat.size} bytes, too many to change`,
        'use Bash for it',
      )
    }
    const bytes = await handle.readFile()
    return { bytes, hash: sha256(bytes), stat }
  } finally {
    await handle.close()
  }
}

/**
 * Puts new content in the place of a file, all at once. The name then stands for a new file: another name of the old one
 * (a hard link, perhaps from outside) keeps the old content, and a link that someone put there meanwhile is replaced, not
 * followed.
 */
export async function replaceFileAtomically(spot: ResolvedPath, content: Uint8Array): Promise<void> {
  // By chance: a name that follows from the content would be taken by another file of that content, or by what a crash left.
  const beside = `${spot.folder}/.${randomBytes(8).toString('hex')}.troupe-new`
  const mode = spot.stat?.isFile() ? spot.stat.mode & 0o777 : 0o666
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW
  const handle = await open(beside, flags, mode)
  try {
    await handle.writeFile(content)
    if (spot.stat?.isFile()) await handle.chmod(mode)
    await handle.sync()
  } catch (thrown) {
    await unlink(beside)
    throw thrown
  } finally {
    await handle.close()
  }
  try {
    await rename(beside, spot.path)
  } catch (thrown) {
    await unlink(beside)
    if (errorCode(thrown) === 'EISDIR' || errorCode(thrown) === 'ENOTDIR') {
      throw invalidCallError(`'${spot.segments.join('/')}' is a folder`)
    }
    throw thrown
  }
}
