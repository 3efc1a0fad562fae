import { isUtf8 } from 'node:buffer'
import { lstat } from 'node:fs/promises'
import { unifiedDiff } from '../../judgement/diff/unified-diff.ts'
import { sha256 } from '../../kernel/hash.ts'
import type { ChangePreview, ToolCall, ToolResult } from '../../kernel/tool.ts'
import { accessDeniedError, invalidCallError } from '../tool-errors.ts'
import { decodeUtf8Strict } from './detect-content.ts'
import { readFileWithHash, removeTemporaryFiles, replaceFileAtomically } from './file-content.ts'
import { assertNoDeniedLink } from './hard-links.ts'
import type { KeyedMutex } from './keyed-mutex.ts'
import { assertValuesKept } from './redacted-values.ts'
import type { ReportedChanges } from './reported-changes.ts'
import { readFileState } from './reported-changes.ts'
import type { ResolvedPath } from './resolve-path.ts'
import { resolveRelativePath, withResolvedPath } from './resolve-path.ts'
import type { SeenFiles } from './seen-files.ts'
import type { Workspace } from './workspace.ts'
import { parseWorkspacePath } from './workspace.ts'

/** The file before a change; `undefined` when it does not exist. */
export type PreviousContent = { bytes: Buffer; path: string } | undefined

export interface FileChange {
  content: Buffer
  /** The result text for the model. */
  summary: string
}

export interface ChangeRequest {
  file_path: string
  call: ToolCall
}

/**
 * Replaces one file as a whole. Optimistic concurrency: fails unless the current content hash is the one that the session
 * last read or wrote. A per-file mutex keeps two changes of the same file from overlapping.
 */
export async function changeFile(
  deps: FileToolDeps,
  { file_path, call }: ChangeRequest,
  makeChange: (before: PreviousContent) => FileChange,
): Promise<ToolResult> {
  const { workspace, seenFiles, mutex, reportedChanges } = deps
  const target = parseWorkspacePath(workspace, file_path)
  // Checked before `create` makes folders on an unapproved path; the check on the resolved path below is the binding one.
  if (call.subject !== undefined) assertPermittedPath(call, resolveRelativePath(workspace, file_path))
  return withResolvedPath(workspace, { target, purpose: 'write', create: true }, (resolved) => {
    const path = resolved.segments.join('/')
    return mutex.runExclusive(path, async () => {
      assertPermittedPath(call, path)
      if (resolved.stat?.isDirectory())
        throw invalidCallError(`\`file_path\` '${path}' is a folder`, 'name a file in it')
      const current = await readFileWithHash(await refreshStat(resolved))
      if (current) await assertNoDeniedLink(workspace, { path, stat: current.stat }, call)
      assertApprovedContent(call, path, current?.hash)
      await assertUnchangedSinceRead(deps, { session: call.session_id, path, hash: current?.hash })
      const change = makeChange(current && { bytes: current.bytes, path })
      assertValuesKept(path, current?.bytes, change.content)
      const before = current?.hash ?? null
      const after = sha256(change.content)
      await seenFiles.recordPendingChange(call.session_id, { path, key: call.idempotency_key, before, after })
      await replaceFileAtomically({ ...resolved, stat: current?.stat }, change.content, call.idempotency_key)
      reportedChanges.add(path, readFileState(resolved.path))
      await seenFiles.recordSeen(call.session_id, path, after)
      const hardLinks = (current?.stat.nlink ?? 1) - 1
      const note = hardLinks > 0 ? ` The file had ${hardLinks} more hard link(s); they keep the old content.` : ''
      const files = changedFile(path, before === null)
      return { success: true, output: change.summary + note, ...files, ...textContents(path, change.content) }
    })
  })
}

/** After a crash, compares the file with the write-ahead hashes to decide whether the change was made. */
export async function recoverChange(
  { seenFiles, workspace }: FileToolDeps,
  { file_path, call }: ChangeRequest,
): Promise<ToolResult | undefined> {
  const pending = await seenFiles.pendingChange(call.session_id, call.idempotency_key)
  if (!pending) return undefined
  const target = parseWorkspacePath(workspace, file_path)
  return withResolvedPath(workspace, { target, purpose: 'write' }, async (resolved) => {
    const path = resolved.segments.join('/')
    await removeTemporaryFiles(resolved, call.idempotency_key)
    const current = await readFileWithHash(resolved)
    const hash = current?.hash ?? null
    if (current && hash === pending.after) {
      await seenFiles.recordSeen(call.session_id, path, pending.after)
      const output = `${path} was changed before the interruption.`
      const files = changedFile(path, pending.before === null)
      return { success: true, output, ...files, ...textContents(path, current.bytes) }
    }
    if (hash === pending.before) return undefined
    throw invalidCallError(
      `'${path}' has neither the content before the change nor the content after it`,
      'read the file, and make the change again if it is missing',
    )
  })
}

function changedFile(path: string, isNew: boolean): Pick<ToolResult, 'files' | 'created'> {
  return { files: [path], ...(isNew ? { created: [path] } : undefined) }
}

/** Larger files are not kept as artifacts: the journal would hold every version of them. */
const MAX_ARTIFACT_BYTES = 1_000_000

function textContents(path: string, content: Buffer): Pick<ToolResult, 'contents'> {
  return content.length > MAX_ARTIFACT_BYTES || !isUtf8(content) || content.includes(0)
    ? {}
    : { contents: { [path]: content.toString('utf8') } }
}

/** Prevents TOCTOU: while a person decided, the approved path may have become a symlink to another file. */
function assertPermittedPath({ subject }: ToolCall, path: string): void {
  if (subject === undefined || subject === path) return
  throw accessDeniedError(
    `permission was granted for '${subject}', but that path now resolves to '${path}'`,
    'check what changed, then make a new call',
  )
}

/** Prevents TOCTOU: another call of the session may have changed the file since its diff was shown. */
function assertApprovedContent({ approved_base }: ToolCall, path: string, hash = ''): void {
  if (approved_base === undefined || approved_base === hash) return
  throw invalidCallError(`'${path}' has changed since its change was approved`, 'read it again first, then change it')
}

interface ContentCheck {
  session: string
  path: string
  hash: string | undefined
}

async function assertUnchangedSinceRead(
  { seenFiles }: FileToolDeps,
  { session, path, hash }: ContentCheck,
): Promise<void> {
  if (hash === undefined) return
  const lastSeen = await seenFiles.lastSeenHash(session, path)
  if (lastSeen === hash) return
  throw lastSeen === undefined
    ? invalidCallError(`'${path}' exists and you have not read it`, 'read it first, then change it')
    : invalidCallError(`'${path}' has changed since you read it`, 'read it again first, then change it')
}

/** Another change may have replaced the file while this one waited for the mutex. */
async function refreshStat(resolved: ResolvedPath): Promise<ResolvedPath> {
  const stat = await lstat(resolved.path).catch(() => undefined)
  return { ...resolved, stat }
}

/** Dependencies that `Read`, `Write` and `Edit` share. */
export interface FileToolDeps {
  workspace: Workspace
  seenFiles: SeenFiles
  /** Keyed by path: one change of a file at a time. */
  mutex: KeyedMutex
  reportedChanges: ReportedChanges
}

/** Longer files are shown without a diff: comparing them takes too long. An approval is bound to their content all the same. */
const MAX_COMPARED_BYTES = 1_000_000

/** The diff that a change of a file would make now. */
export async function previewChange(
  { workspace }: FileToolDeps,
  file_path: string,
  makeChange: (before: PreviousContent) => Pick<FileChange, 'content'>,
): Promise<ChangePreview> {
  const target = parseWorkspacePath(workspace, file_path)
  return withResolvedPath(workspace, { target, purpose: 'read' }, async (resolved) => {
    const path = resolved.segments.join('/')
    const current = await readFileWithHash(resolved)
    const { content } = makeChange(current && { bytes: current.bytes, path })
    const diff = diffOf(current?.bytes ?? Buffer.alloc(0), content)
    return { path, base: current?.hash ?? '', ...(current ? undefined : { is_new: true }), ...diff }
  })
}

function diffOf(before: Buffer, after: Buffer): Pick<ChangePreview, 'diff'> {
  if (before.length + after.length > MAX_COMPARED_BYTES) return {}
  const [old, text] = [decodeUtf8Strict(before), decodeUtf8Strict(after)]
  return old === undefined || text === undefined ? {} : { diff: unifiedDiff(old, text) }
}
