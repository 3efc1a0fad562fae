import type { Tool } from '../../kernel/tool.ts'
import * as z from '../../schema/zod.ts'
import { defineTool } from '../define-tool.ts'
import { resolveRelativePath } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { parseWorkspacePath } from '../files/workspace.ts'
import { paginate } from './paginate.ts'
import type { Searcher } from './searcher.ts'

const DEFAULT_LIMIT = 1000

const input = z.object({
  pattern: z.string().min(1).describe('Such as `**/*.test.ts`.'),
  path: z.string().optional(),
  offset: z.number().int().min(0).optional(),
  head_limit: z.number().int().min(1).optional(),
})

/** The `Glob` tool: finds files by name. */
export function globTool(searcher: Searcher, workspace: Workspace): Tool {
  return defineTool<z.output<typeof input>>({
    name: 'Glob',
    description: 'Find workspace files by name, except those in .gitignore.',
    category: 'perception',
    kind: 'read',
    input,
    subject: ({ path }) => resolveRelativePath(workspace, path ?? '.') || '.',
    async execute({ pattern, path = '.', offset = 0, head_limit = DEFAULT_LIMIT }, call) {
      const { filterInSlices, globFilter } = await import('./glob-filter.ts')
      const { createPermissionFilter } = await import('./permission-filter.ts')
      const { segments } = parseWorkspacePath(workspace, path)
      const relativePattern =
        pattern.startsWith('/') && segments.length === 0 ? toRelativePattern(workspace, pattern) : pattern
      const matches = globFilter(relativePattern)
      const files = await searcher.files(path, call.signal)
      const prefixLength = segments.length === 0 ? 0 : segments.join('/').length + 1
      const matching = await filterInSlices(files, (file) => matches(file.slice(prefixLength)), call.signal)
      const { isDenied, note } = createPermissionFilter(call)
      const shown = await filterInSlices(matching, (file) => !isDenied(file), call.signal)
      const page = { offset, limit: head_limit, emptyText: 'no files match' }
      return { success: true, output: paginate(shown, { ...page, notes: note(matching.length - shown.length) }) }
    },
  })
}

function toRelativePattern(workspace: Workspace, pattern: string): string {
  return `/${parseWorkspacePath(workspace, pattern).segments.join('/')}`
}
