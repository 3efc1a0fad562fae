import { isUtf8 } from 'node:buffer'
import { join } from 'node:path'
import type { ToolCall, ToolResult } from '../../kernel/tool.ts'
import { readFileWithHash } from '../files/file-content.ts'
import { findDeniedLinks } from '../files/hard-links.ts'
import type { ReportedChanges } from '../files/reported-changes.ts'
import { readFileState } from '../files/reported-changes.ts'
import { withResolvedPath } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { parseWorkspacePath } from '../files/workspace.ts'
import { createPermissionFilter } from '../search/permission-filter.ts'
import type { Searcher } from '../search/searcher.ts'

/*
 * The files that a command has changed: those whose size, modification time or inode differ after it.
 * 1. Files that `.gitignore` excludes, links, and files that a permission rule hides are not compared.
 * 2. The comparison is bounded; beyond a bound no file is kept, and the result says so.
 * 3. Two calls at a time: a change is reported by the one that ends first after it, never by both.
 */

/** Larger workspaces are not compared: each command would wait for it twice. */
const MAX_FILES = 5_000
/** More changed files are the work of a build or a checkout, not of a writer. */
const MAX_CHANGED = 20
/** As for `Write`: the journal holds every version. */
const MAX_FILE_BYTES = 1_000_000
const MAX_TOTAL_BYTES = 4_000_000

/** The state of each file by its path, or `undefined` beyond the bounds. */
type FileStates = ReadonlyMap<string, string> | undefined

export interface ChangedFiles extends Pick<ToolResult, 'files' | 'created' | 'deleted' | 'contents'> {
  /** Notes for the model. */
  notes: string[]
}

export interface ChangeTracker {
  /** Compares from here on; the returned function ends the comparison. */
  start(call: ToolCall): Promise<() => Promise<ChangedFiles>>
}

/** The state of a file that is gone, among the reported changes. */
const DELETED = 'deleted'
const NOT_KEPT = 'not kept as artifacts; keep what matters with ArtifactWrite'

export interface TrackedWorkspace {
  workspace: Workspace
  searcher: Searcher
  reportedChanges: ReportedChanges
}

export function createChangeTracker(tracked: TrackedWorkspace): ChangeTracker {
  const { workspace, reportedChanges: reported } = tracked
  let isTooLarge = false
  return {
    async start(call) {
      if (isTooLarge) return async () => ({ notes: [] })
      const before = await readFileStates(tracked, call.signal)
      return async () => {
        const after = before && (await readFileStates(tracked, call.signal))
        if (!before || !after) {
          isTooLarge = true
          return {
            notes: [`the workspace has more than ${MAX_FILES} files: files that commands write are ${NOT_KEPT}`],
          }
        }
        const { isDenied } = createPermissionFilter(call)
        const changed = [...after].filter(
          ([path, state]) => before.get(path) !== state && !reported.has(path, state) && !isDenied(path),
        )
        const deleted = [...before.keys()].filter(
          (path) => !after.has(path) && !reported.has(path, DELETED) && !isDenied(path),
        )
        for (const path of deleted) reported.add(path, DELETED)
        const removed = deleted.length > 0 && deleted.length <= MAX_CHANGED ? { deleted } : undefined
        if (changed.length === 0) return { ...removed, notes: [] }
        for (const [path, state] of changed) reported.add(path, state)
        if (changed.length > MAX_CHANGED) return { ...removed, notes: [`${changed.length} files changed: ${NOT_KEPT}`] }
        const changedPaths = changed.map(([path]) => path)
        const deniedLinks = await findDeniedLinks(workspace, changedPaths, call)
        const files = changedPaths.filter((path) => !deniedLinks.has(path))
        const created = files.filter((path) => !before.has(path))
        return {
          ...(await readContents(workspace, files)),
          ...(created.length > 0 ? { created } : undefined),
          ...removed,
        }
      }
    },
  }
}

/** Synchronous `lstat`: ten times faster than one promise for each file. */
async function readFileStates({ workspace, searcher }: TrackedWorkspace, signal: AbortSignal): Promise<FileStates> {
  const paths = await searcher.files('.', signal)
  if (paths.length > MAX_FILES) return undefined
  const states = new Map<string, string>()
  for (const path of paths) {
    const state = readFileState(join(workspace.realPath, path))
    if (state !== undefined) states.set(path, state)
  }
  return states
}

async function readContents(workspace: Workspace, files: string[]): Promise<ChangedFiles> {
  const contents: Record<string, string> = {}
  const skipped: string[] = []
  let total = 0
  for (const file of files) {
    const bytes = await readTextFile(workspace, file)
    if (bytes === undefined || total + bytes.length > MAX_TOTAL_BYTES) skipped.push(file)
    else {
      total += bytes.length
      contents[file] = bytes.toString('utf8')
    }
  }
  const notes = skipped.length > 0 ? [`${skipped.join(', ')}: no text, or too large; ${NOT_KEPT}`] : []
  return { files, contents, notes }
}

/** Opened like the file tools open it: another command may have put a link there meanwhile (symlink race). */
async function readTextFile(workspace: Workspace, file: string): Promise<Buffer | undefined> {
  try {
    const target = parseWorkspacePath(workspace, file)
    return await withResolvedPath(workspace, { target, purpose: 'read' }, async (resolved) => {
      if (resolved.stat === undefined || resolved.stat.size > MAX_FILE_BYTES) return undefined
      const { bytes } = (await readFileWithHash(resolved)) ?? {}
      return bytes && bytes.length <= MAX_FILE_BYTES && isUtf8(bytes) && !bytes.includes(0) ? bytes : undefined
    })
  } catch {
    return undefined
  }
}
