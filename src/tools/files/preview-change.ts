import { unifiedDiff } from '../../judgement/diff/unified-diff.ts'
import type { ChangePreview } from '../../kernel/tool.ts'
import type { FileChange, PreviousContent } from './change-file.ts'
import { decodeUtf8Strict } from './detect-content.ts'
import { readFileWithHash } from './file-content.ts'
import type { FileToolDeps } from './file-tool-deps.ts'
import { withResolvedPath } from './resolve-path.ts'
import { parseWorkspacePath } from './workspace-path.ts'

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
