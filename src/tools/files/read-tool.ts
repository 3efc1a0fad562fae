import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { Tool } from '../../kernel/tool.ts'
import * as z from '../../schema/zod.ts'
import { defineTool } from '../define-tool.ts'
import { invalidCallError } from '../tool-errors.ts'
import type { FileToolDeps } from './change-file.ts'
import { TROUPE_FOLDER } from './check-protected.ts'
import { MAX_WHOLE_FILE_BYTES, openRegularFile } from './file-content.ts'
import type { ReadLinesResult } from './read-lines.ts'
import { resolveRelativePath, withResolvedPath } from './resolve-path.ts'
import { parseWorkspacePath } from './workspace.ts'

const DEFAULT_LINES = 2000
const MAX_LINE_CHARS = 2000
const MAX_CHARS = 100_000

const input = z.object({
  file_path: z.string().min(1),
  offset: z.number().int().min(1).optional().describe('First line, from 1.'),
  limit: z.number().int().min(1).optional(),
})

type Input = z.output<typeof input>

/** The `Read` tool: numbered lines of a file. Records the content hash, so that a later change detects lost updates. */
export function readTool({ workspace, seenFiles }: FileToolDeps): Tool {
  return defineTool<Input>({
    name: 'Read',
    description: `Read a workspace file (relative path) as numbered lines, ${DEFAULT_LINES} at a time.`,
    category: 'perception',
    kind: 'read',
    input,
    subject: ({ file_path }) => resolveRelativePath(workspace, file_path),
    async execute(request, call) {
      const { assertNoDeniedLink } = await import('./hard-links.ts')
      const target = parseWorkspacePath(workspace, request.file_path)
      return withResolvedPath(workspace, { target, purpose: 'read' }, async (resolved) => {
        const { handle, stat } = await openRegularFile(resolved)
        try {
          const path = resolved.segments.join('/')
          await assertNoDeniedLink(workspace, { path, stat }, call)
          const { output, hash } = await renderFile(handle, stat, request)
          if (hash !== undefined && resolved.segments[0] !== TROUPE_FOLDER)
            await seenFiles.recordSeen(call.session_id, path, hash)
          return { success: true, output }
        } finally {
          await handle.close()
        }
      })
    },
  })
}

async function renderFile(handle: FileHandle, stat: Stats, request: Input): Promise<{ output: string; hash?: string }> {
  const { detectContent, SAMPLE_BYTES } = await import('./detect-content.ts')
  const sample = Buffer.alloc(SAMPLE_BYTES)
  const { bytesRead } = await handle.read(sample, 0, SAMPLE_BYTES, 0)
  const content = detectContent(sample.subarray(0, bytesRead))
  const hash = stat.size <= MAX_WHOLE_FILE_BYTES ? createHash('sha256') : undefined
  if (content.kind !== 'text') {
    if (hash) for await (const chunk of handle.createReadStream({ start: 0, autoClose: false })) hash.update(chunk)
    const size = content.kind === 'image' && content.width ? `, ${content.width} × ${content.height} pixels` : ''
    const kind = content.kind === 'image' ? 'image' : 'binary file'
    const output = `[${kind}: ${content.media_type}${size}, ${stat.size} bytes; cannot be shown as text]`
    return { output, ...(hash ? { hash: hash.digest('hex') } : undefined) }
  }
  const offset = request.offset ?? 1
  const limit = request.limit ?? DEFAULT_LINES
  const bounds = { maxLineChars: MAX_LINE_CHARS, maxChars: MAX_CHARS }
  const { readLines } = await import('./read-lines.ts')
  const lines = await readLines(handle, { encoding: content.encoding, offset, limit, ...bounds, hash })
  return { output: formatLines(lines, offset), ...(hash ? { hash: hash.digest('hex') } : undefined) }
}

function formatLines(
  { lines, truncatedLines, total, complete, hasInvalidBytes }: ReadLinesResult,
  offset: number,
): string {
  if (total === 0) return '[the file is empty]'
  if (lines.length === 0) {
    throw invalidCallError(
      `\`offset\` ${offset} is past the end of the file, which has ${total} lines`,
      'use a smaller `offset`',
    )
  }
  const body = lines.map((line, index) => `${String(offset + index).padStart(6)}\t${line}`).join('\n')
  const last = offset + lines.length - 1
  const notes = [
    ...(truncatedLines.length > 0
      ? [`truncated to ${MAX_LINE_CHARS} characters: line ${truncatedLines.slice(0, 20).join(', ')}`]
      : []),
    ...(hasInvalidBytes ? ['invalid bytes are shown as \ufffd'] : []),
    ...(!complete || last < total
      ? [`lines ${offset} to ${last} of ${complete ? total : 'a longer file'}; continue with offset ${last + 1}`]
      : []),
  ]
  return notes.length === 0 ? body : `${body}\n[${notes.join('; ')}]`
}
