import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open, readdir, rename, unlink } from 'node:fs/promises'
import { sha256, shortHash } from '../../kernel/hash.ts'
import { accessDeniedError, errorCode, invalidCallError } from '../tool-errors.ts'
import type { ResolvedPath } from './resolve-path.ts'
import { concurrentChangeError, NO_FOLLOW, notFoundError } from './resolve-path.ts'

/** The largest file that is loaded into memory as a whole, to be edited or hashed. */
export const MAX_WHOLE_FILE_BYTES = 16 * 1024 * 1024

/** Opens a regular file for reading; rejects symlinks, folders, devices, pipes and sockets. */
export async function openRegularFile(resolved: ResolvedPath): Promise<{ handle: FileHandle; stat: Stats }> {
  const path = resolved.segments.join('/') || '.'
  if (resolved.stat === undefined) throw notFoundError(path)
  if (resolved.stat.isDirectory()) throw invalidCallError(`'${path}' is a folder`, 'list it with Glob')
  const handle = await openForReading(resolved, path)
  const stat = await handle.stat()
  if (stat.isFile()) return { handle, stat }
  await handle.close()
  throw irregularFileError(path)
}

async function openForReading(resolved: ResolvedPath, path: string): Promise<FileHandle> {
  try {
    // Denial of service: without O_NONBLOCK, opening a named pipe blocks until someone writes to it.
    return await open(resolved.path, constants.O_RDONLY | constants.O_NONBLOCK | NO_FOLLOW)
  } catch (thrown) {
    if (errorCode(thrown) === 'ELOOP') throw concurrentChangeError(path)
    if (errorCode(thrown) === 'ENOENT') throw notFoundError(path)
    if (errorCode(thrown) === 'EACCES')
      throw invalidCallError(
        `'${path}' is not readable: permission denied`,
        'ask the operator to make the file readable',
      )
    if (errorCode(thrown) === 'ENXIO') throw irregularFileError(path)
    throw thrown
  }
}

function irregularFileError(path: string): Error {
  return accessDeniedError(`'${path}' is not a regular file`, 'name a regular file, not a device, pipe or socket')
}

/** Reads a whole file with its hash; `undefined` when it does not exist. */
export async function readFileWithHash(
  resolved: ResolvedPath,
): Promise<{ bytes: Buffer; hash: string; stat: Stats } | undefined> {
  if (resolved.stat === undefined) return undefined
  const { handle, stat } = await openRegularFile(resolved)
  try {
    if (stat.size > MAX_WHOLE_FILE_BYTES) {
      throw invalidCallError(
        `'${resolved.segments.join('/')}' has ${stat.size} bytes; the maximum is ${MAX_WHOLE_FILE_BYTES}`,
        'read a part of it with `offset` and `limit`, or use Bash',
      )
    }
    const bytes = await handle.readFile()
    return { bytes, hash: sha256(bytes), stat }
  } finally {
    await handle.close()
  }
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

/**
 * Replaces a file atomically by renaming a temporary file over it. Prevents two attacks: writing through a hard link (the
 * other name, perhaps outside the workspace, keeps the old content) and a symlink race (a symlink put there meanwhile is
 * replaced, not followed).
 */
export async function replaceFileAtomically(resolved: ResolvedPath, content: Uint8Array, key = ''): Promise<void> {
  // Random: a name derived from the content or the call alone would collide with a parallel write, or with a leftover of a crash.
  const temporary = `${resolved.folder}/${temporaryPrefix(key)}${randomBytes(8).toString('hex')}${TEMPORARY_SUFFIX}`
  const mode = resolved.stat?.isFile() ? resolved.stat.mode & 0o777 : 0o666
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW
  const handle = await open(temporary, flags, mode)
  try {
    await handle.writeFile(content)
    if (resolved.stat?.isFile()) await handle.chmod(mode)
    await handle.sync()
  } catch (thrown) {
    await unlink(temporary)
    throw thrown
  } finally {
    await handle.close()
  }
  try {
    await rename(temporary, resolved.path)
  } catch (thrown) {
    await unlink(temporary)
    if (errorCode(thrown) === 'EISDIR' || errorCode(thrown) === 'ENOTDIR') {
      throw invalidCallError(`\`file_path\` '${resolved.segments.join('/')}' is a folder`, 'name a file in it')
    }
    throw thrown
  }
}

const TEMPORARY_SUFFIX = '.troupe-new'
const temporaryPrefix = (key: string) => `.${shortHash(key)}-`

/** Removes the temporary files that a call with this key left when its process was killed. */
export async function removeTemporaryFiles({ folder }: ResolvedPath, key: string): Promise<void> {
  const left = (await readdir(folder)).filter(
    (name) => name.startsWith(temporaryPrefix(key)) && name.endsWith(TEMPORARY_SUFFIX),
  )
  for (const name of left) await unlink(`${folder}/${name}`)
}
