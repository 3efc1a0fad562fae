import { open, readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { isInFolder } from '../user-home.ts'

/*
 * Reads files of a project that nobody has checked.
 * 1. Confined: a symbolic link must resolve inside of the project.
 * 2. Bounded: the size of a file, the entries of a folder and the number of files.
 * 3. Never an error: a file that is missing, binary, a device or too large is not there.
 */

const MAX_BYTES = 256 * 1024
const MAX_ENTRIES = 500
const MAX_FILES = 200

export interface ProjectFiles {
  /** The text of a file, relative to the project; `undefined` if it cannot be used. */
  read(path: string): Promise<string | undefined>
  /** The names in a folder, sorted; `undefined` if there is none. */
  list(path: string): Promise<string[] | undefined>
}

export async function openProjectFiles(folder: string): Promise<ProjectFiles> {
  const root = await realpath(folder).catch(() => undefined)
  let files = 0
  /** The real path of a file inside of the project. */
  const resolveInside = async (path: string): Promise<string | undefined> => {
    if (root === undefined) return undefined
    const real = await realpath(join(root, path)).catch(() => undefined)
    return real !== undefined && isInFolder(root, real) ? real : undefined
  }
  return {
    async read(path) {
      if (++files > MAX_FILES) return undefined
      const real = await resolveInside(path)
      return real === undefined ? undefined : readText(real).catch(() => undefined)
    },
    async list(path) {
      const real = await resolveInside(path)
      if (real === undefined) return undefined
      const names = await readdir(real).catch(() => undefined)
      return names?.sort().slice(0, MAX_ENTRIES)
    },
  }
}

async function readText(path: string): Promise<string | undefined> {
  // O_NONBLOCK: opening a named pipe would wait for a writer.
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = (await import('node:fs')).constants
  const file = await open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
  try {
    const stat = await file.stat()
    if (!stat.isFile() || stat.size > MAX_BYTES) return undefined
    const text = new TextDecoder().decode(await file.readFile())
    return text.includes('\0') ? undefined : text.replace(/^\uFEFF/, '')
  } finally {
    await file.close()
  }
}
