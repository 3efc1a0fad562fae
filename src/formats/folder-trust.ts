import type { Stats } from 'node:fs'
import { chmod, mkdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { TroupeError } from '../errors.ts'
import { sha256 } from '../kernel/hash.ts'
import { filesNamedIn } from './named-files.ts'
import { saveTrustedCopies } from './trusted-copies.ts'
import { userConfigFolder } from './user-home.ts'

/*
 * Folder trust. Files of a project can run code, start servers and grant permissions, and a stranger may have written them. They are used
 * only when the operator trusts the folder with exactly this content, recorded as hashes in `~/.config/troupe/trust`.
 * 1. A file that was added, changed or removed since makes the folder untrusted again.
 * 2. The record is written under another name and renamed: a killed process leaves the old one.
 * 3. A record that cannot be read, or that other users may write, trusts nothing, and nobody knows what it trusted before.
 */

/** The files of a folder that trust is about: their hashes, by path relative to the folder. */
export type FileHashes = Readonly<Record<string, string>>

/** The difference between the files of a folder and those that were trusted. */
export interface TrustChanges {
  /** False if the folder was never trusted. */
  wasTrusted: boolean
  added: string[]
  changed: string[]
  removed: string[]
  /** The files that were trusted. */
  trusted: FileHashes
  /** Why the record cannot be used, so that the folder may have been trusted. */
  recordProblem?: string
}

export function trustRecordPath(): string {
  return join(userConfigFolder(), 'trust')
}

/** Hashes files. Files that code names in a string, such as `'./tools'` or `'bin/server'`, and `#imports` are followed; packages are not. */
export async function hashFiles(folder: string, paths: readonly string[]): Promise<FileHashes> {
  const hashes: Record<string, string> = {}
  const queue = paths.map((path) => resolve(folder, path))
  const seen = new Set(queue)
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const content = await readRegularFile(path)
    if (content === undefined) continue
    hashes[relative(folder, path).replaceAll(sep, '/')] = sha256(content)
    if (seen.size > MAX_FILES) throw tooManyFiles(folder)
    for (const target of await filesNamedIn(folder, path, content)) {
      if (seen.has(target) || target.includes(`${sep}node_modules${sep}`) || WRITTEN_FILE.test(target)) continue
      seen.add(target)
      queue.push(target)
    }
  }
  return hashes
}

/** Prevents denial of service: reading a device such as `/dev/zero` never ends. */
async function readRegularFile(path: string): Promise<Buffer | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() ? readFile(path).catch(() => undefined) : undefined
}

const MAX_FILES = 10_000
/** Files that runs write: asking again after each run would teach people to agree without reading. */
const WRITTEN_FILE = /\.(?:db|sqlite3?|jsonl|ndjson|log)$/i

/** `undefined` if the folder is trusted with this content. */
export async function findTrustChanges(
  record: string,
  folder: string,
  files: FileHashes,
): Promise<TrustChanges | undefined> {
  const { folders, problem } = await readRecord(record)
  const trusted = folders[await realpath(folder)]
  const names = Object.keys(files)
  const added = names.filter((name) => trusted?.[name] === undefined)
  const changed = names.filter((name) => trusted?.[name] !== undefined && trusted[name] !== files[name])
  const removed = Object.keys(trusted ?? {}).filter((name) => files[name] === undefined)
  const isTrusted = trusted !== undefined && added.length + changed.length + removed.length === 0
  if (isTrusted) return undefined
  const changes = { wasTrusted: trusted !== undefined, added, changed, removed, trusted: trusted ?? {} }
  return problem === undefined ? changes : { ...changes, recordProblem: problem }
}

/** Records that the operator trusts the folder with this content. Throws if there is a record that cannot be used: what it has would be lost. */
export async function recordTrust(record: string, folder: string, files: FileHashes): Promise<void> {
  const root = await realpath(folder)
  const folders = { ...(await readUsableRecord(record)), [root]: files }
  await mkdir(dirname(record), { recursive: true, mode: 0o700 })
  const temporary = `${record}.${process.pid}`
  await writeFile(temporary, `${JSON.stringify({ folders }, undefined, 2)}\n`, { mode: 0o600 })
  // The mode of `writeFile` does not change that of a file left by a killed process.
  await chmod(temporary, 0o600)
  await rename(temporary, record)
  await saveTrustedCopies(record, { folder, files }, folders)
}

/** The folders of a record that new answers can be added to. */
export async function readUsableRecord(record: string): Promise<TrustRecord['folders']> {
  const { folders, problem } = await readRecord(record)
  if (problem !== undefined) throw unusableRecordError(record, problem)
  return folders
}

export function unusableRecordError(record: string, problem: string): TroupeError {
  return new TroupeError('invalid_input', `the record of trusted projects ${record} is not used: ${problem}`, {
    hint: 'if it is yours and has what you trusted, run `chmod 600` on it; otherwise delete it, so that each project asks again. --trust-project uses a project for one command',
    responsible: 'operator',
  })
}

interface TrustRecord {
  folders: Readonly<Record<string, FileHashes>>
  /** Why a record that exists is not used. */
  problem?: string
}

async function readRecord(record: string): Promise<TrustRecord> {
  try {
    if (!isPrivate(await stat(record))) return { folders: {}, problem: 'another user owns it or may write it' }
    const { folders } = JSON.parse(await readFile(record, 'utf8')) as { folders?: unknown }
    if (typeof folders === 'object' && folders !== null) return { folders: folders as TrustRecord['folders'] }
    return { folders: {}, problem: 'it is damaged' }
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return { folders: {} }
    return { folders: {}, problem: code === undefined ? 'it is damaged' : `it cannot be read (${code})` }
  }
}

/** False for a file that another user owns or may write: whoever can write it can trust anything. */
function isPrivate({ uid, mode }: Stats): boolean {
  const own = process.getuid?.()
  return own === undefined || (uid === own && (mode & 0o022) === 0)
}

function tooManyFiles(folder: string): TroupeError {
  return new TroupeError('too_large', `the configuration of ${folder} refers to more than ${MAX_FILES} files`, {
    hint: 'move code that is not part of the configuration into a package',
    responsible: 'operator',
  })
}
