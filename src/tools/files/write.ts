import { z } from 'zod'
import type { Tool } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import { changeFile, recoverChange } from './change.ts'
import { whereTo } from './descend.ts'
import type { FileTools } from './file-tools.ts'

const input = z.object({
  file_path: z.string().min(1).describe('The file, relative to the workspace. Missing folders are made.'),
  content: z.string().describe('All that the file is to hold.'),
})

/** A whole file. An existing one has to have been read first. */
export function writeTool(tools: FileTools): Tool {
  return defineTool<z.output<typeof input>>({
    name: 'Write',
    description:
      'Write a whole file of the workspace, new or in place of what is there. Read an existing file first; to change ' +
      'a part of it, prefer Edit.',
    category: 'action',
    kind: 'act',
    edits: true,
    input,
    subject: ({ file_path }) => whereTo(tools.workspace, file_path),
    execute: ({ file_path, content }, call) =>
      changeFile(tools, file_path, call, (before) => ({
        content: Buffer.from(content),
        says: `${before ? 'Replaced' : 'Wrote'} ${file_path}: ${Buffer.byteLength(content)} bytes.`,
      })),
    recover: ({ file_path }, call) => recoverChange(tools, file_path, call),
  })
}
