import type { Tool } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import * as z from '../../schema/zod.ts'
import { changeFile, recoverChange } from './change-file.ts'
import type { FileToolDeps } from './file-tool-deps.ts'
import { previewChange } from './preview-change.ts'
import { placeholderNote } from './redacted-values.ts'
import { resolveRelativePath } from './resolve-path.ts'

const input = z.object({
  file_path: z.string().min(1),
  content: z.string(),
})

/** The `Write` tool: creates or replaces a whole file. An existing file must have been read first. */
export function writeTool(deps: FileToolDeps): Tool {
  return defineTool<z.output<typeof input>>({
    name: 'Write',
    description: 'Create or replace a whole workspace file. Read an existing file first; to change a part, use Edit.',
    category: 'action',
    kind: 'act',
    edits: true,
    input,
    subject: ({ file_path }) => resolveRelativePath(deps.workspace, file_path),
    execute: ({ file_path, content }, call) =>
      changeFile(deps, { file_path, call }, (before) => ({
        content: Buffer.from(content),
        summary: `${before ? 'Replaced' : 'Wrote'} ${file_path}: ${Buffer.byteLength(content)} bytes.${before ? '' : placeholderNote(content)}`,
      })),
    preview: ({ file_path, content }) => previewChange(deps, file_path, () => ({ content: Buffer.from(content) })),
    recover: ({ file_path }, call) => recoverChange(deps, { file_path, call }),
  })
}
