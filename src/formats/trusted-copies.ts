import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { sha256 } from '../kernel/hash.ts'

/*
 * Copies of trusted files, for the diff of the next question: `trusted/HASH` beside the record of trust.
 * 1. A copy is used only if its content has the hash in its name.
 * 2. Large and binary files have no copy; a missing copy only means that there is no diff.
 */

/** As `FileHashes`. */
type HashesByName = Readonly<Record<string, string>>

const MAX_COPY_BYTES = 256 * 1024
/** Of all files of one folder. */
const MAX_FOLDER_BYTES = 4 * 1024 * 1024

function copiesFolder(record: string): string {
  return join(dirname(record), 'trusted')
}

/** Keeps the content of these files, and deletes copies that no folder of the record needs. */
export async function saveTrustedCopies(
  record: string,
  { folder, files }: { folder: string; files: HashesByName },
  recorded: Readonly<Record<string, HashesByName>>,
): Promise<void> {
  const copies = copiesFolder(record)
  await mkdir(copies, { recursive: true, mode: 0o700 })
  let total = 0
  for (const [name, hash] of Object.entries(files)) {
    const content = await readSmallFile(resolve(folder, name))
    if (content === undefined || sha256(content) !== hash || content.includes(0)) continue
    total += content.length
    if (total > MAX_FOLDER_BYTES) break
    const temporary = join(copies, `${hash}.${process.pid}`)
    await writeFile(temporary, content, { mode: 0o600 })
    await chmod(temporary, 0o600)
    await rename(temporary, join(copies, hash))
  }
  const needed = new Set(Object.values(recorded).flatMap((hashes) => Object.values(hashes)))
  for (const name of await readdir(copies))
    if (/^[0-9a-f]{64}$/.test(name) && !needed.has(name)) await rm(join(copies, name), { force: true })
}

/** The text of a trusted file by its hash; `undefined` if there is no copy. */
export async function readTrustedCopy(record: string, hash: string): Promise<string | undefined> {
  if (!/^[0-9a-f]{64}$/.test(hash)) return undefined
  const content = await readSmallFile(join(copiesFolder(record), hash))
  return content && sha256(content) === hash ? content.toString('utf8') : undefined
}

/** The text of a file of the project, if it still has this hash and can be shown. */
export async function readHashedText(path: string, hash: string): Promise<string | undefined> {
  const content = await readSmallFile(path)
  return content && sha256(content) === hash && !content.includes(0) ? content.toString('utf8') : undefined
}

async function readSmallFile(path: string): Promise<Buffer | undefined> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile() || found.size > MAX_COPY_BYTES) return undefined
  return readFile(path).catch(() => undefined)
}
