import { constants } from 'node:fs'
import { appendFile, open, readFile } from 'node:fs/promises'
import { errorCode } from '../tool-errors.ts'
import { TROUPE_FOLDER } from './check-protected.ts'
import { replaceFileAtomically } from './file-content.ts'
import { NO_FOLLOW, withResolvedPath } from './resolve-path.ts'
import type { Workspace } from './workspace.ts'

/*
 * State of tools between calls, as files in `.troupe`. Opened with the same path resolution as files of agents: agents
 * control the workspace and could place symlinks in it.
 */

/** Encodes an id as a file name. Prevents path traversal; different ids get different names. */
export function toFileName(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, (char) => `.${char.codePointAt(0)?.toString(16)}.`).slice(0, 200)
}

export async function readState(workspace: Workspace, segments: readonly string[]): Promise<string | undefined> {
  const target = statePath(segments)
  try {
    return await withResolvedPath(workspace, { target, purpose: 'internal' }, async ({ path, stat }) => {
      if (!stat?.isFile()) return undefined
      const handle = await open(path, constants.O_RDONLY | NO_FOLLOW)
      try {
        return await readFile(handle, 'utf8')
      } finally {
        await handle.close()
      }
    })
  } catch (thrown) {
    // The folder does not exist yet.
    if (errorCode(thrown) === 'tool_failed') return undefined
    throw thrown
  }
}

export async function appendState(workspace: Workspace, segments: readonly string[], text: string): Promise<void> {
  const target = statePath(segments)
  await withResolvedPath(workspace, { target, purpose: 'internal', create: true }, async ({ path }) => {
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NO_FOLLOW
    const handle = await open(path, flags, 0o600)
    try {
      await appendFile(handle, text)
    } finally {
      await handle.close()
    }
  })
}

export async function replaceState(workspace: Workspace, segments: readonly string[], text: string): Promise<void> {
  const target = statePath(segments)
  await withResolvedPath(workspace, { target, purpose: 'internal', create: true }, (resolved) =>
    replaceFileAtomically(resolved, Buffer.from(text)),
  )
}

function statePath(segments: readonly string[]) {
  const path = [TROUPE_FOLDER, ...segments]
  return { segments: path, requested: path.join('/') }
}
