import { z } from 'zod'
import type { Tool } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import { resolveRelativePath } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { parseWorkspacePath } from '../files/workspace-path.ts'
import { filterInSlices, globFilter } from './glob-filter.ts'
import { paginate } from './paginate.ts'
import { createPermissionFilter } from './permission-filter.ts'
import type { Searcher } from './searcher.ts'

const DEFAULT_LIMIT = 1000

const input = z.object({
  pattern: z.string().min(1).describe('For example `**/*.test.ts`. Without a slash: names at any depth.'),
  path: z.string().optional().describe('The folder to look in; the whole workspace unless given.'),
  offset: z.number().int().min(0).optional().describe('How many paths to skip, to read on.'),
  head_limit: z.number().int().min(1).max(20_000).optional().describe(`How many paths; ${DEFAULT_LIMIT} unless given.`),
})

/** Files by their names. */
export function globTool(searcher: Searcher, workspace: Workspace): Tool {
  return defineTool<z.output<typeof input>>({
    name: 'Glob',
    description:
      'Find files of the workspace by name, with * ? ** [abc] {a,b}. Files that .gitignore hides are left out. Returns ' +
      'their paths in alphabetical order.',
    category: 'perception',
    kind: 'read',
    input,
    subject: ({ path }) => resolveRelativePath(workspace, path ?? '.') || '.',
    async execute({ pattern, path = '.', offset = 0, head_limit = DEFAULT_LIMIT }, call) {
      const { segments } = parseWorkspacePath(workspace, path)
      // Whoever gives an absolute pattern below the workspace means the same as with a relative one.
      const wanted = pattern.startsWith('/') && segments.length === 0 ? toRelativePattern(workspace, pattern) : pattern
      const isMeant = globFilter(wanted)
      const files = await searcher.files(path, call.signal)
      const depth = segments.length === 0 ? 0 : segments.join('/').length + 1
      const found = await filterInSlices(files, (file) => isMeant(file.slice(depth)), call.signal)
      const { isDenied, note } = createPermissionFilter(call)
      const shown = await filterInSlices(found, (file) => !isDenied(file), call.signal)
      const notes = note(found.length - shown.length)
      const about = { offset, limit: head_limit, emptyText: 'no file has such a name' }
      return {
        success: true,
        output: paginate(shown, { ...about, ...(notes.length > 0 ? { note: notes.join('; ') } : {}) }),
      }
    },
  })
}

function toRelativePattern(workspace: Workspace, pattern: string): string {
  return `/${parseWorkspacePath(workspace, pattern).segments.join('/')}`
}
