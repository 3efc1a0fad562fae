import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Copies a database and its log to a new folder of this user. For a file that a killed process left in a folder that is read-only: no
 * process has it open, since that one would have left its shared-memory file.
 */
export function copyForReading(path: string): { path: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-read-'))
  const copy = join(folder, 'troupe.db')
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    for (const suffix of ['', '-wal']) if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix)
  } catch (thrown) {
    remove()
    throw thrown
  }
  return { path: copy, remove }
}
