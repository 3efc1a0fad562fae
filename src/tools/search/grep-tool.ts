import type { Tool } from '../../kernel/tool.ts'
import * as z from '../../schema/zod.ts'
import { defineTool } from '../define-tool.ts'
import { resolveRelativePath } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { paginate } from './paginate.ts'
import type { FileMatches, SearchQuery } from './search-query.ts'
import type { Searcher } from './searcher.ts'

const INCOMPLETE_NOTE = 'the results are incomplete; narrow the search with path, glob or type'

const MAX_CONTEXT_LINES = 100

const contextLines = z.number().int().min(0).optional()

const input = z.object({
  pattern: z.string().min(1).max(2000),
  path: z.string().optional(),
  glob: z.string().optional(),
  type: z.string().optional().describe('Such as ts.'),
  output_mode: z.enum(['content', 'files_with_matches', 'count']).optional().describe('Default: files_with_matches.'),
  '-i': z.boolean().optional(),
  '-n': z.boolean().optional(),
  '-A': contextLines,
  '-B': contextLines,
  '-C': contextLines,
  multiline: z.boolean().optional(),
  head_limit: z.number().int().min(1).optional(),
  offset: z.number().int().min(0).optional(),
})

type Input = z.output<typeof input>

/** The `Grep` tool: searches file contents. */
export function grepTool(searcher: Searcher, workspace: Workspace): Tool {
  return defineTool<Input>({
    name: 'Grep',
    description:
      'Search workspace files, except those in .gitignore, with a regular expression without look-around and backreferences.',
    category: 'perception',
    kind: 'read',
    input,
    subject: ({ path }) => resolveRelativePath(workspace, path ?? '.') || '.',
    async execute(request, call) {
      const { findDeniedLinks } = await import('../files/hard-links.ts')
      const { globFilter } = await import('./glob-filter.ts')
      const { createPermissionFilter } = await import('./permission-filter.ts')
      const query = toSearchQuery(request)
      const { files, incomplete } = await searcher.search(request.path ?? '.', query, call.signal)
      const matchesGlob = request.glob === undefined ? () => true : globFilter(request.glob)
      const matching = files.filter(({ path }) => matchesGlob(path))
      const { isDenied, note } = createPermissionFilter(call)
      const permitted = matching.filter(({ path }) => !isDenied(path))
      const deniedLinks = await findDeniedLinks(
        workspace,
        permitted.map(({ path }) => path),
        call,
      )
      const shown = permitted.filter(({ path }) => !deniedLinks.has(path))
      const notes = [...(incomplete ? [INCOMPLETE_NOTE] : []), ...note(matching.length - shown.length)]
      const lines = shown.flatMap((file) => formatMatches(file, query, request['-n'] ?? true))
      const output = paginate(lines, {
        offset: request.offset ?? 0,
        limit: request.head_limit ?? (query.mode === 'content' ? 500 : 1000),
        emptyText: 'no matches',
        notes,
      })
      return { success: true, output }
    },
  })
}

function toSearchQuery(request: Input): SearchQuery {
  const { glob, type } = request
  return {
    pattern: request.pattern,
    ignoreCase: request['-i'] ?? false,
    multiline: request.multiline ?? false,
    mode: request.output_mode ?? 'files_with_matches',
    before: Math.min(request['-B'] ?? request['-C'] ?? 0, MAX_CONTEXT_LINES),
    after: Math.min(request['-A'] ?? request['-C'] ?? 0, MAX_CONTEXT_LINES),
    // An optimisation: a plain glob narrows the search. The exact glob filter runs on the results.
    ...(glob !== undefined && type === undefined && /^[\w.*?{},-]+$/.test(glob) ? { fileGlob: glob } : undefined),
    ...(type === undefined ? undefined : { fileType: type }),
  }
}

function formatMatches(
  { path, count, lines }: FileMatches,
  { mode, before, after }: SearchQuery,
  numbers: boolean,
): string[] {
  if (mode === 'files_with_matches') return [path]
  if (mode === 'count') return [`${path}:${count}`]
  return lines.flatMap((line, index) => {
    const separator = line.isMatch ? ':' : '-'
    const shown = `${path}${separator}${numbers ? `${line.number}${separator}` : ''}${line.text.replace(/\r$/, '')}`
    const previous = lines[index - 1]
    const hasGap = before + after > 0 && previous !== undefined && previous.number + 1 < line.number
    return hasGap ? ['--', shown] : [shown]
  })
}
