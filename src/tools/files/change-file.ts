import { lstat } from 'node:fs/promises'
import { sha256 } from '../../kernel/hash.ts'
import type { ToolCall, ToolResult } from '../../kernel/tool.ts'
import { accessDeniedError, invalidCallError } from '../tool-errors.ts'
import { readFileWithHash, replaceFileAtomically } from './file-content.ts'
import type { FileToolDeps } from './file-tool-deps.ts'
import type { ResolvedPath } from './resolve-path.ts'
import { resolveRelativePath, withResolvedPath } from './resolve-path.ts'
import { parseWorkspacePath } from './workspace-path.ts'

/** What is there before a change; `undefined` when there is no file. */
export type PreviousContent = { bytes: Buffer; path: string } | undefined

export interface FileChange {
  content: Buffer
  /** What the model is told. */
  summary: string
}

/**
 * Changes one file as a whole. Refused unless the session knows what is there now: it read or wrote exactly that content.
 * Two changes of one file never overlap.
 */
export async function changeFile(
  tools: FileToolDeps,
  file_path: string,
  call: ToolCall,
  make: (before: PreviousContent) => FileChange,
): Promise<ToolResult> {
  const { workspace, seenFiles, mutex } = tools
  const place = parseWorkspacePath(workspace, file_path)
  // Before folders are made on a way that nobody agreed to; what counts is the look at the spot itself.
  if (call.subject !== undefined) assertPermittedPath(call, resolveRelativePath(workspace, file_path))
  return withResolvedPath(workspace, place, { purpose: 'write', create: true }, (spot) =>
    mutex.runExclusive(spot.segments.join('/'), async () => {
      const path = spot.segments.join('/')
      assertPermittedPath(call, path)
      if (spot.stat?.isDirectory()) throw invalidCallError(`'${path}' is a folder`)
      const there = await readFileWithHash(await refreshStat(spot))
      await assertUnchangedSinceRead(tools, call.session_id, path, there?.hash)
      const change = make(there && { bytes: there.bytes, path })
      const after = sha256(change.content)
      await seenFiles.recordPendingChange(call.session_id, path, call.idempotency_key, {
        before: there?.hash ?? null,
        after,
      })
      await replaceFileAtomically({ ...spot, stat: there?.stat }, change.content)
      await seenFiles.recordSeen(call.session_id, path, after)
      const others = (there?.stat.nlink ?? 1) - 1
      const note = others > 0 ? ` The file had ${others} more name(s) elsewhere; they keep the old content.` : ''
      return { success: true, output: change.summary + note, files: [path] }
    }),
  )
}

/** After a crash between begin and end: whether the change was made, by the hashes it had announced. */
export async function recoverChange(
  tools: FileToolDeps,
  file_path: string,
  call: ToolCall,
): Promise<ToolResult | undefined> {
  const announced = await tools.seenFiles.pendingChange(call.session_id, call.idempotency_key)
  if (!announced) return undefined
  const place = parseWorkspacePath(tools.workspace, file_path)
  return withResolvedPath(tools.workspace, place, { purpose: 'write' }, async (spot) => {
    const path = spot.segments.join('/')
    const now = (await readFileWithHash(spot))?.hash ?? null
    if (now === announced.after) {
      await tools.seenFiles.recordSeen(call.session_id, path, announced.after)
      return { success: true, output: `${path} was changed before the interruption.`, files: [path] }
    }
    if (now === announced.before) return undefined
    throw invalidCallError(`'${path}' is neither as it was before the change nor as it would be after it`)
  })
}

/** While a person was asked, a link may have been put where the file was. */
function assertPermittedPath({ subject }: ToolCall, path: string): void {
  if (subject === undefined || subject === path) return
  throw accessDeniedError(
    `permission was given for '${subject}', which now leads to '${path}'`,
    'look what changed, then ask again',
  )
}

async function assertUnchangedSinceRead(
  { seenFiles }: FileToolDeps,
  session: string,
  path: string,
  hash: string | undefined,
): Promise<void> {
  if (hash === undefined) return
  const known = await seenFiles.lastSeenHash(session, path)
  if (known === hash) return
  throw known === undefined
    ? invalidCallError(`'${path}' exists and you have not read it`, 'read it first, then change it')
    : invalidCallError(`'${path}' has changed since you read it`, 'read it again first, then change it')
}

/** Another change may have come first while this one waited for its turn. */
async function refreshStat(spot: ResolvedPath): Promise<ResolvedPath> {
  const stat = await lstat(spot.path).catch(() => undefined)
  return { ...spot, stat }
}
