import { z } from 'zod'
import type { Tool } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import { changeFile, recoverChange } from './change-file.ts'
import type { FileToolDeps } from './file-tool-deps.ts'
import { resolveRelativePath } from './resolve-path.ts'

const input = z.object({
  file_path: z.string().min(1).describe('The file, relative to the workspace. Missing folders are made.'),
  content: z.string().describe('All that the file is to hold.'),
})

/** A whole file. An existing one has to have been read first. */
export function writeTool(tools: FileToolDeps): Tool {
  return defineTool<z.output<typeof input>>({
    name: 'Write',
    description:
      'Write a whole file of the workspace, new or in place of what is there. Read an existing file first; to change ' +
      'a part of it, prefer Edit.',
    category: 'action',
    kind: 'act',
    edits: true,
    input,
    subject: ({ file_path }) => resolveRelativePath(tools.workspace, file_path),
    execute: ({ file_path, content }, call) =>
      changeFile(tools, file_path, call, (before) => ({
        content: Buffer.from(content),
        summary: `${before ? 'Replaced' : 'Wrote'} ${file_path}: ${Buffer.byteLength(content)} bytes.`,
      })),
    recover: ({ file_path }, call) => recoverChange(tools, file_path, call),
  })
}
