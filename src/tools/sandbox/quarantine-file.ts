import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, renameSync } from 'node:fs'

/**
 * Moves what stands in an open folder under this name out of the way, and says under which name it can be found. Never
 * removes it: it may be the work of a person, who came while a command was at work.
 */
export function quarantineFile(folder: string, name: string): string | undefined {
  const path = `${folder}/${name}`
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const other = `${name}.replaced-${randomBytes(4).toString('hex')}`
  makeWritable(folder)
  renameSync(path, `${folder}/${other}`)
  return other
}

/** A command may have taken the right to write from its own folders. */
export function makeWritable(folder: string): void {
  const mode = lstatSync(`${folder}/.`).mode & 0o7777
  if ((mode & 0o300) !== 0o300) chmodSync(`${folder}/.`, mode | 0o300)
}
