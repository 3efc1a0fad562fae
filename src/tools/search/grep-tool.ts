import { z } from 'zod'
import type { Tool } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import { resolveRelativePath } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { globsForFileType } from './file-globs.ts'
import { globFilter } from './glob-filter.ts'
import { paginate } from './paginate.ts'
import { createPermissionFilter } from './permission-filter.ts'
import type { FileMatches, SearchQuery } from './search-query.ts'
import type { Searcher } from './searcher.ts'

const INCOMPLETE_NOTE = 'there was too much to search it all; narrow it down with path, glob or type'

const contextLines = z.number().int().min(0).max(100).optional()

const input = z.object({
  pattern: z.string().min(1).max(2000).describe('A regular expression, as ripgrep takes it.'),
  path: z.string().optional().describe('The file or folder to search; the whole workspace unless given.'),
  glob: z.string().optional().describe('Only files with such names, for example `*.{ts,tsx}` or `src/**`.'),
  type: z.string().optional().describe('Only files of this kind: ts, js, py, rust, go, md, …'),
  output_mode: z
    .enum(['content', 'files_with_matches', 'count'])
    .optional()
    .describe('Matching lines, paths (unless given), or counts.'),
  '-i': z.boolean().optional().describe('Ignore case.'),
  '-n': z.boolean().optional().describe('Line numbers with content; shown unless false.'),
  '-A': contextLines.describe('Lines to show after each match.'),
  '-B': contextLines.describe('Lines to show before each match.'),
  '-C': contextLines.describe('Lines to show before and after each match.'),
  multiline: z.boolean().optional().describe('Let the expression span lines.'),
  head_limit: z.number().int().min(1).max(20_000).optional().describe('How many lines of output.'),
  offset: z.number().int().min(0).optional().describe('How many lines of output to skip, to read on.'),
})

type Input = z.output<typeof input>

/** Searches contents. The answer is the same with and without ripgrep. */
export function grepTool(searcher: Searcher, workspace: Workspace): Tool {
  return defineTool<Input>({
    name: 'Grep',
    description:
      'Search the contents of files of the workspace with a regular expression. Files that .gitignore hides and binary ' +
      'files are left out. Look-around and back references are not supported.',
    category: 'perception',
    kind: 'read',
    input,
    subject: ({ path }) => resolveRelativePath(workspace, path ?? '.') || '.',
    async execute(request, call) {
      const query = toSearchQuery(request)
      const { files, incomplete } = await searcher.search(request.path ?? '.', query, call.signal)
      const isMeant = request.glob === undefined ? () => true : globFilter(request.glob)
      const meant = files.filter(({ path }) => isMeant(path))
      const { isDenied, note } = createPermissionFilter(call)
      const shown = meant.filter(({ path }) => !isDenied(path))
      const notes = [...(incomplete ? [INCOMPLETE_NOTE] : []), ...note(meant.length - shown.length)]
      const lines = shown.flatMap((file) => formatMatches(file, query, request['-n'] ?? true))
      const output = paginate(lines, {
        offset: request.offset ?? 0,
        limit: request.head_limit ?? (query.mode === 'content' ? 500 : 1000),
        emptyText: 'nothing matches',
        ...(notes.length > 0 ? { note: notes.join('; ') } : {}),
      })
      return { success: true, output }
    },
  })
}

function toSearchQuery(request: Input): SearchQuery {
  const plainGlob = request.glob !== undefined && /^[\w.*?{},-]+$/.test(request.glob) ? [request.glob] : []
  return {
    pattern: request.pattern,
    ignoreCase: request['-i'] ?? false,
    multiline: request.multiline ?? false,
    mode: request.output_mode ?? 'files_with_matches',
    before: request['-B'] ?? request['-C'] ?? 0,
    after: request['-A'] ?? request['-C'] ?? 0,
    // Only to search less; what the glob means is decided on the results.
    fileGlobs: request.type === undefined ? plainGlob : globsForFileType(request.type),
  }
}

function formatMatches(
  { path, count, lines }: FileMatches,
  { mode, before, after }: SearchQuery,
  numbers: boolean,
): string[] {
  if (mode === 'files_with_matches') return [path]
  if (mode === 'count') return [`${path}:${count}`]
  return lines.flatMap((line, at) => {
    const mark = line.isMatch ? ':' : '-'
    const shown = `${path}${mark}${numbers ? `${line.number}${mark}` : ''}${line.text.replace(/\r$/, '')}`
    const last = lines[at - 1]
    const apart = before + after > 0 && last !== undefined && last.number + 1 < line.number
    return apart ? ['--', shown] : [shown]
  })
}
