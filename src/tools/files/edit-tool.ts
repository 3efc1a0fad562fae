import type { Tool } from '../../kernel/tool.ts'
import * as z from '../../schema/zod.ts'
import { defineTool } from '../define-tool.ts'
import type { FileToolDeps } from './change-file.ts'
import { resolveRelativePath } from './resolve-path.ts'

const input = z.object({
  file_path: z.string().min(1),
  old_string: z.string().min(1).describe('Exactly as in the file, without line numbers.'),
  new_string: z.string(),
  replace_all: z.boolean().optional(),
})

/** The `Edit` tool: replaces text that occurs in a file exactly once, or everywhere with `replace_all`. */
export function editTool(deps: FileToolDeps): Tool {
  return defineTool<z.output<typeof input>>({
    name: 'Edit',
    description: 'Replace text in a file that you have read. old_string must occur exactly once, or set replace_all.',
    category: 'action',
    kind: 'act',
    edits: true,
    input,
    subject: ({ file_path }) => resolveRelativePath(deps.workspace, file_path),
    execute: async (request, call) => (await import('./apply-edit.ts')).editFile(deps, request, call),
    preview: async (request) => (await import('./apply-edit.ts')).previewEdit(deps, request),
    recover: async ({ file_path }, call) => (await import('./change-file.ts')).recoverChange(deps, { file_path, call }),
  })
}
