import { createHash } from 'node:crypto'
import { chmod, mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { TroupeError } from '../errors.ts'

/*
 * Folder trust. Files of a project can run code, start servers and grant permissions, and a stranger may have written them. They are used
 * only when the operator trusts the folder with exactly this content, recorded as hashes in `~/.config/troupe/trust`.
 * 1. A file that was added, changed or removed since makes the folder untrusted again.
 * 2. The record is written under another name and renamed: a killed process leaves the old one.
 * 3. A record that cannot be read trusts nothing.
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
}

export function trustRecordPath(home: string): string {
  return join(home, '.config', 'troupe', 'trust')
}

/** Hashes files. Relative specifiers in code, such as `'./tools.ts'`, are followed; packages are not. */
export async function hashFiles(folder: string, paths: readonly string[]): Promise<FileHashes> {
  const hashes: Record<string, string> = {}
  const queue = paths.map((path) => resolve(folder, path))
  const seen = new Set(queue)
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const content = await readFile(path).catch(() => undefined)
    if (content === undefined) continue
    hashes[relative(folder, path).replaceAll(sep, '/')] = createHash('sha256').update(content).digest('hex')
    if (seen.size > MAX_FILES) throw tooManyFiles(folder)
    if (!CODE_FILE.test(path)) continue
    for (const specifier of relativeSpecifiers(content.toString('utf8'))) {
      const target = resolve(dirname(path), specifier)
      if (seen.has(target) || target.includes(`${sep}node_modules${sep}`)) continue
      seen.add(target)
      queue.push(target)
    }
  }
  return hashes
}

const MAX_FILES = 2000
const CODE_FILE = /\.[cm]?[jt]sx?$/

/** Every string that looks like a relative path: imports, and files that the code may read. Over-approximates on purpose. */
function relativeSpecifiers(code: string): string[] {
  return [...code.matchAll(/(['"`])(\.{1,2}\/[^'"`\n$]{1,500})\1/g)].map(([, , specifier = '']) => specifier)
}

/** `undefined` if the folder is trusted with this content. */
export async function findTrustChanges(
  record: string,
  folder: string,
  files: FileHashes,
): Promise<TrustChanges | undefined> {
  const trusted = (await readRecord(record))[await realpath(folder)]
  const names = Object.keys(files)
  const added = names.filter((name) => trusted?.[name] === undefined)
  const changed = names.filter((name) => trusted?.[name] !== undefined && trusted[name] !== files[name])
  const removed = Object.keys(trusted ?? {}).filter((name) => files[name] === undefined)
  const isTrusted = trusted !== undefined && added.length + changed.length + removed.length === 0
  return isTrusted ? undefined : { wasTrusted: trusted !== undefined, added, changed, removed }
}

/** Records that the operator trusts the folder with this content. */
export async function recordTrust(record: string, folder: string, files: FileHashes): Promise<void> {
  const folders = { ...(await readRecord(record)), [await realpath(folder)]: files }
  await mkdir(dirname(record), { recursive: true, mode: 0o700 })
  const temporary = `${record}.${process.pid}`
  await writeFile(temporary, `${JSON.stringify({ folders }, undefined, 2)}\n`, { mode: 0o600 })
  // The mode of `writeFile` does not change that of a file left by a killed process.
  await chmod(temporary, 0o600)
  await rename(temporary, record)
}

async function readRecord(record: string): Promise<Record<string, FileHashes>> {
  const text = await readFile(record, 'utf8').catch(() => '{}')
  try {
    const { folders = {} } = JSON.parse(text) as { folders?: Record<string, FileHashes> }
    return folders
  } catch {
    return {}
  }
}

function tooManyFiles(folder: string): TroupeError {
  return new TroupeError('too_large', `the configuration of ${folder} refers to more than ${MAX_FILES} files`, {
    hint: 'move code that is not part of the configuration into a package',
    responsible: 'operator',
  })
}

/** True for a path that is the folder or in it. */
export function isInFolder(folder: string, path: string): boolean {
  const inner = relative(folder, path)
  return inner === '' || (!inner.startsWith('..') && !isAbsolute(inner))
}
