import { z } from 'zod'
import type { Tool } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import { whereTo } from '../files/descend.ts'
import { placeOf } from '../files/place.ts'
import type { Workspace } from '../files/workspace.ts'
import { globFilter, sifted } from './glob-pattern.ts'
import { page } from './page.ts'
import type { Searcher } from './searcher.ts'
import { withheldFrom } from './withheld.ts'

const PATHS = 1000

const input = z.object({
  pattern: z.string().min(1).describe('For example `**/*.test.ts`. Without a slash: names at any depth.'),
  path: z.string().optional().describe('The folder to look in; the whole workspace unless given.'),
  offset: z.number().int().min(0).optional().describe('How many paths to skip, to read on.'),
  head_limit: z.number().int().min(1).max(20_000).optional().describe(`How many paths; ${PATHS} unless given.`),
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
    subject: ({ path }) => whereTo(workspace, path ?? '.') || '.',
    async execute({ pattern, path = '.', offset = 0, head_limit = PATHS }, call) {
      const { names } = placeOf(workspace, path)
      // Whoever gives an absolute pattern below the workspace means the same as with a relative one.
      const wanted = pattern.startsWith('/') && names.length === 0 ? relative(workspace, pattern) : pattern
      const isMeant = globFilter(wanted)
      const files = await searcher.files(path, call.signal)
      const depth = names.length === 0 ? 0 : names.join('/').length + 1
      const found = await sifted(files, (file) => isMeant(file.slice(depth)), call.signal)
      const { isWithheld, note } = withheldFrom(call)
      const shown = await sifted(found, (file) => !isWithheld(file), call.signal)
      const notes = note(found.length - shown.length)
      const about = { offset, limit: head_limit, nothing: 'no file has such a name' }
      return {
        success: true,
        output: page(shown, { ...about, ...(notes.length > 0 ? { note: notes.join('; ') } : {}) }),
      }
    },
  })
}

function relative(workspace: Workspace, pattern: string): string {
  return `/${placeOf(workspace, pattern).names.join('/')}`
}
