import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { z } from 'zod'
import type { Tool } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import { invalidCallError } from '../tool-errors.ts'
import { TROUPE_FOLDER } from './check-protected.ts'
import { detectContent, SAMPLE_BYTES } from './detect-content.ts'
import { MAX_WHOLE_FILE_BYTES, openRegularFile } from './file-content.ts'
import type { FileToolDeps } from './file-tool-deps.ts'
import type { ReadLinesResult } from './read-lines.ts'
import { readLines } from './read-lines.ts'
import { resolveRelativePath, withResolvedPath } from './resolve-path.ts'
import { parseWorkspacePath } from './workspace-path.ts'

const DEFAULT_LINES = 2000
const MAX_LINE_CHARS = 2000
const MAX_CHARS = 100_000

const input = z.object({
  file_path: z.string().min(1).describe('The file, relative to the workspace.'),
  offset: z.number().int().min(1).optional().describe('The first line to read, from 1.'),
  limit: z.number().int().min(1).max(20_000).optional().describe(`How many lines; ${DEFAULT_LINES} unless given.`),
})

type Input = z.output<typeof input>

/** Lines of a file with their numbers. What was read is remembered, so that a later edit can tell a change by others. */
export function readTool({ workspace, seenFiles }: FileToolDeps): Tool {
  return defineTool<Input>({
    name: 'Read',
    description:
      `Read a file of the workspace. Returns up to ${DEFAULT_LINES} lines with line numbers; give offset and limit for the rest ` +
      'of a long file. Read a file before you change it.',
    category: 'perception',
    kind: 'read',
    input,
    subject: ({ file_path }) => resolveRelativePath(workspace, file_path),
    async execute(request, call) {
      const place = parseWorkspacePath(workspace, request.file_path)
      return withResolvedPath(workspace, place, { purpose: 'read' }, async (spot) => {
        const { handle, stat } = await openRegularFile(spot)
        try {
          const path = spot.segments.join('/')
          const { output, hash } = await renderFile(handle, stat, request)
          if (hash !== undefined && spot.segments[0] !== TROUPE_FOLDER)
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
  const sample = Buffer.alloc(SAMPLE_BYTES)
  const { bytesRead } = await handle.read(sample, 0, SAMPLE_BYTES, 0)
  const content = detectContent(sample.subarray(0, bytesRead))
  const hash = stat.size <= MAX_WHOLE_FILE_BYTES ? createHash('sha256') : undefined
  if (content.kind !== 'text') {
    if (hash) for await (const chunk of handle.createReadStream({ start: 0, autoClose: false })) hash.update(chunk)
    const size = content.kind === 'image' && content.width ? `, ${content.width} × ${content.height} pixels` : ''
    const what = content.kind === 'image' ? 'an image' : 'a binary file'
    const output = `[${what}: ${content.media_type}${size}, ${stat.size} bytes; it cannot be shown as text]`
    return { output, ...(hash ? { hash: hash.digest('hex') } : undefined) }
  }
  const range = {
    offset: request.offset ?? 1,
    limit: request.limit ?? DEFAULT_LINES,
    maxLineChars: MAX_LINE_CHARS,
    maxChars: MAX_CHARS,
  }
  const lines = await readLines(handle, content.encoding, range, hash)
  return { output: formatLines(lines, range.offset), ...(hash ? { hash: hash.digest('hex') } : undefined) }
}

function formatLines(
  { lines, truncatedLines, total, complete, hasInvalidBytes }: ReadLinesResult,
  offset: number,
): string {
  if (total === 0) return '[the file is empty]'
  if (lines.length === 0) {
    throw invalidCallError(`the file has ${total} lines; line ${offset} is after its end`, 'give a smaller offset')
  }
  const body = lines.map((line, at) => `${String(offset + at).padStart(6)}\t${line}`).join('\n')
  const last = offset + lines.length - 1
  const notes = [
    ...(truncatedLines.length > 0
      ? [`cut after ${MAX_LINE_CHARS} characters: line ${truncatedLines.slice(0, 20).join(', ')}`]
      : []),
    ...(hasInvalidBytes ? ['some bytes are not valid text and are shown as \ufffd'] : []),
    ...(!complete || last < total
      ? [`lines ${offset} to ${last} of ${complete ? total : 'a longer file'}; go on with offset ${last + 1}`]
      : []),
  ]
  return notes.length === 0 ? body : `${body}\n[${notes.join('; ')}]`
}
