import { constants } from 'node:fs'
import { appendFile, open, readFile } from 'node:fs/promises'
import { errorCode } from '../tool-errors.ts'
import { TROUPE_FOLDER } from './check-protected.ts'
import { replaceFileAtomically } from './file-content.ts'
import { NO_FOLLOW, withResolvedPath } from './resolve-path.ts'
import type { Workspace } from './workspace.ts'

/*
 * What tools remember between calls, as files in the workspace's own folder, reached as carefully as any other file: a
 * workspace is full of things that agents made.
 */

/** A name that is safe as a file name and keeps different ids apart. */
export function toFileName(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, (char) => `.${char.codePointAt(0)?.toString(16)}.`).slice(0, 200)
}

export async function readState(workspace: Workspace, names: readonly string[]): Promise<string | undefined> {
  const place = statePath(names)
  try {
    return await withResolvedPath(workspace, place, { purpose: 'internal' }, async ({ path, stat }) => {
      if (!stat?.isFile()) return undefined
      const handle = await open(path, constants.O_RDONLY | NO_FOLLOW)
      try {
        return await readFile(handle, 'utf8')
      } finally {
        await handle.close()
      }
    })
  } catch (thrown) {
    // The folder of the file was never made.
    if (errorCode(thrown) === 'tool_failed') return undefined
    throw thrown
  }
}

export async function appendState(workspace: Workspace, names: readonly string[], text: string): Promise<void> {
  await withResolvedPath(workspace, statePath(names), { purpose: 'internal', create: true }, async ({ path }) => {
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NO_FOLLOW
    const handle = await open(path, flags, 0o600)
    try {
      await appendFile(handle, text)
    } finally {
      await handle.close()
    }
  })
}

export async function replaceState(workspace: Workspace, names: readonly string[], text: string): Promise<void> {
  await withResolvedPath(workspace, statePath(names), { purpose: 'internal', create: true }, (spot) =>
    replaceFileAtomically(spot, Buffer.from(text)),
  )
}

function statePath(names: readonly string[]) {
  return { segments: [TROUPE_FOLDER, ...names], shown: [TROUPE_FOLDER, ...names].join('/') }
}
