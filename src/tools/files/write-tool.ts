import type { Tool } from '../../kernel/tool.ts'
import * as z from '../../schema/zod.ts'
import { defineTool } from '../define-tool.ts'
import type { FileToolDeps } from './change-file.ts'
import { resolveRelativePath } from './resolve-path.ts'

const writeInput = z.object({
  file_path: z.string().min(1),
  content: z.string(),
})

/** The `Write` tool: creates or replaces a whole file. An existing file must have been read first. */
export function writeTool(deps: FileToolDeps): Tool {
  return defineTool<z.output<typeof writeInput>>({
    name: 'Write',
    description: 'Create or replace a whole workspace file. Read an existing file first; to change a part, use Edit.',
    category: 'action',
    kind: 'act',
    edits: true,
    input: writeInput,
    subject: ({ file_path }) => resolveRelativePath(deps.workspace, file_path),
    async execute({ file_path, content }, call) {
      const { changeFile } = await import('./change-file.ts')
      const { placeholderNote } = await import('./redacted-values.ts')
      return changeFile(deps, { file_path, call }, (before) => ({
        content: Buffer.from(content),
        summary: `${before ? 'Replaced' : 'Wrote'} ${file_path}: ${Buffer.byteLength(content)} bytes.${before ? '' : placeholderNote(content)}`,
      }))
    },
    async preview({ file_path, content }) {
      const { previewChange } = await import('./change-file.ts')
      return previewChange(deps, file_path, () => ({ content: Buffer.from(content) }))
    },
    recover: async ({ file_path }, call) => (await import('./change-file.ts')).recoverChange(deps, { file_path, call }),
  })
}

const editInput = z.object({
  file_path: z.string().min(1),
  old_string: z.string().min(1).describe('Exactly as in the file, without line numbers.'),
  new_string: z.string(),
  replace_all: z.boolean().optional(),
})

/** The `Edit` tool: replaces text that occurs in a file exactly once, or everywhere with `replace_all`. */
export function editTool(deps: FileToolDeps): Tool {
  return defineTool<z.output<typeof editInput>>({
    name: 'Edit',
    description: 'Replace text in a file that you have read. old_string must occur exactly once, or set replace_all.',
    category: 'action',
    kind: 'act',
    edits: true,
    input: editInput,
    subject: ({ file_path }) => resolveRelativePath(deps.workspace, file_path),
    execute: async (request, call) => (await import('./apply-edit.ts')).editFile(deps, request, call),
    preview: async (request) => (await import('./apply-edit.ts')).previewEdit(deps, request),
    recover: async ({ file_path }, call) => (await import('./change-file.ts')).recoverChange(deps, { file_path, call }),
  })
}
