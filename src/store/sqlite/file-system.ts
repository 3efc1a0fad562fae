import { accessSync, constants, existsSync, mkdirSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { TroupeError } from '../../errors.ts'
import { readOnlyError, storeFullError } from './sqlite-errors.ts'

/** Linux's numbers for file systems whose locks or shared memory do not reach other machines. */
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

/** Tells the type of the file system a path is on: `fs.statfs` unless a test says otherwise. */
export type FileSystemType = (path: string) => number

const fileSystemType: FileSystemType = (path) => (process.platform === 'linux' ? statfsSync(path).type : 0)

/** Makes the folder of a store and refuses places where two processes could not be kept apart. */
export function prepareFolder(path: string, typeOf: FileSystemType = fileSystemType): void {
  const folder = dirname(path)
  rejectNetworkFileSystem(path, typeOf(nearestExistingFolder(folder)))
  try {
    mkdirSync(folder, { recursive: true })
    if (existsSync(path)) {
      if (statSync(path).isDirectory()) throw new TroupeError('store_failed', `${path} is a folder, not a file`)
      accessSync(path, constants.R_OK | constants.W_OK)
    }
    accessSync(folder, constants.W_OK)
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') throw readOnlyError(path, thrown)
    if (code === 'ENOSPC' || code === 'EDQUOT') throw storeFullError(path, thrown)
    if (thrown instanceof TroupeError) throw thrown
    throw new TroupeError('store_failed', `${folder} cannot be used: ${(thrown as Error).message}`, { cause: thrown })
  }
}

function rejectNetworkFileSystem(path: string, type: number): void {
  const name = NETWORK_FILE_SYSTEMS[type >>> 0]
  if (name === undefined) return
  throw new TroupeError('store_network', `${path} is on a network file system (${name})`, {
    hint: 'its locks cannot keep two machines apart; name a place on a local disk with --store or TROUPE_STORE',
  })
}

function nearestExistingFolder(folder: string): string {
  const above = dirname(folder)
  return existsSync(folder) || above === folder ? folder : nearestExistingFolder(above)
}
