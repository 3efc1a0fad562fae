import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { z } from 'zod'
import type { Tool } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import { mistaken } from '../complaint.ts'
import { LARGEST_WHOLE, openRegular } from './content.ts'
import { atPlace, whereTo } from './descend.ts'
import type { FileTools } from './file-tools.ts'
import type { Lines } from './lines.ts'
import { readLines } from './lines.ts'
import { placeOf } from './place.ts'
import { OWN_FOLDER } from './protected.ts'
import { contentOf, SAMPLE_BYTES } from './text.ts'

const LINES = 2000
const LINE_CHARS = 2000
const CHARS = 100_000

const input = z.object({
  file_path: z.string().min(1).describe('The file, relative to the workspace.'),
  offset: z.number().int().min(1).optional().describe('The first line to read, from 1.'),
  limit: z.number().int().min(1).max(20_000).optional().describe(`How many lines; ${LINES} unless given.`),
})

type Input = z.output<typeof input>

/** Lines of a file with their numbers. What was read is remembered, so that a later edit can tell a change by others. */
export function readTool({ workspace, seen }: FileTools): Tool {
  return defineTool<Input>({
    name: 'Read',
    description:
      `Read a file of the workspace. Returns up to ${LINES} lines with line numbers; give offset and limit for the rest ` +
      'of a long file. Read a file before you change it.',
    category: 'perception',
    kind: 'read',
    input,
    subject: ({ file_path }) => whereTo(workspace, file_path),
    async execute(request, call) {
      const place = placeOf(workspace, request.file_path)
      return atPlace(workspace, place, { purpose: 'read' }, async (spot) => {
        const { handle, stat } = await openRegular(spot)
        try {
          const path = spot.names.join('/')
          const { output, hash } = await show(handle, stat, request)
          if (hash !== undefined && spot.names[0] !== OWN_FOLDER) await seen.remember(call.session_id, path, hash)
          return { success: true, output }
        } finally {
          await handle.close()
        }
      })
    },
  })
}

async function show(handle: FileHandle, stat: Stats, request: Input): Promise<{ output: string; hash?: string }> {
  const sample = Buffer.alloc(SAMPLE_BYTES)
  const { bytesRead } = await handle.read(sample, 0, SAMPLE_BYTES, 0)
  const content = contentOf(sample.subarray(0, bytesRead))
  const hash = stat.size <= LARGEST_WHOLE ? createHash('sha256') : undefined
  if (content.kind !== 'text') {
    if (hash) for await (const chunk of handle.createReadStream({ start: 0, autoClose: false })) hash.update(chunk)
    const size = content.kind === 'image' && content.width ? `, ${content.width} × ${content.height} pixels` : ''
    const what = content.kind === 'image' ? 'an image' : 'a binary file'
    const output = `[${what}: ${content.media_type}${size}, ${stat.size} bytes; it cannot be shown as text]`
    return { output, ...(hash ? { hash: hash.digest('hex') } : undefined) }
  }
  const range = { offset: request.offset ?? 1, limit: request.limit ?? LINES, lineChars: LINE_CHARS, chars: CHARS }
  const lines = await readLines(handle, content.encoding, range, hash)
  return { output: numbered(lines, range.offset), ...(hash ? { hash: hash.digest('hex') } : undefined) }
}

function numbered({ lines, cut, total, complete, damaged }: Lines, offset: number): string {
  if (total === 0) return '[the file is empty]'
  if (lines.length === 0) {
    throw mistaken(`the file has ${total} lines; line ${offset} is after its end`, 'give a smaller offset')
  }
  const body = lines.map((line, at) => `${String(offset + at).padStart(6)}\t${line}`).join('\n')
  const last = offset + lines.length - 1
  const notes = [
    ...(cut.length > 0 ? [`cut after ${LINE_CHARS} characters: line ${cut.slice(0, 20).join(', ')}`] : []),
    ...(damaged ? ['some bytes are not valid text and are shown as \ufffd'] : []),
    ...(!complete || last < total
      ? [`lines ${offset} to ${last} of ${complete ? total : 'a longer file'}; go on with offset ${last + 1}`]
      : []),
  ]
  return notes.length === 0 ? body : `${body}\n[${notes.join('; ')}]`
}
