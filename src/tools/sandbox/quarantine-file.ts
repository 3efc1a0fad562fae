import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, renameSync } from 'node:fs'

/**
 * Renames a file in an open folder and returns the new name; `undefined` when there is no such file. Never deletes it: it may
 * be a person's work.
 */
export function quarantineFile(folder: string, name: string): string | undefined {
  const path = `${folder}/${name}`
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const newName = `${name}.replaced-${randomBytes(4).toString('hex')}`
  makeWritable(folder)
  renameSync(path, `${folder}/${newName}`)
  return newName
}

/** Restores the write permission of a folder, which a command may have removed. */
export function makeWritable(folder: string): void {
  const mode = lstatSync(`${folder}/.`).mode & 0o7777
  if ((mode & 0o300) !== 0o300) chmodSync(`${folder}/.`, mode | 0o300)
}
