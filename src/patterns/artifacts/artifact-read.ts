import { z } from 'zod'
import { unknownNameError } from '../../errors.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { artifactName } from './artifact-name.ts'

const PAGE_CHARS = 50_000

const input = z.object({
  name: artifactName,
  version: z.number().int().min(1).optional().describe('The newest unless given.'),
  offset: z.number().int().min(0).optional().describe('How many characters to skip, to read on.'),
})

/** A piece of work that someone in this run wrote. */
export const artifactRead = definePattern<z.output<typeof input>>({
  name: 'ArtifactRead',
  version: 1,
  description: 'Read a named piece of work of this run, the newest version or an older one.',
  category: 'perception',
  delegates: false,
  on_request: true,
  input,
  output: z.object({ name: z.string(), version: z.number(), content: z.string() }),
  async execute(context, { name, version, offset = 0 }) {
    const found = await context.readArtifact('read', { name, ...(version === undefined ? undefined : { version }) })
    if (!found) {
      const known = await context.artifacts('known')
      const wanted = version === undefined ? name : `${name} (version ${version})`
      const names = known.map((ref) => (version === undefined ? ref.name : `${ref.name} (version ${ref.version})`))
      throw unknownNameError('tool_failed', { kind: 'artifact', name: wanted, known: [...new Set(names)] })
    }
    const { content, media_type, by } = found
    const end = Math.min(content.length, offset + PAGE_CHARS)
    const more = end < content.length ? { more: `go on with offset ${end} of ${content.length}` } : undefined
    const part = content.slice(offset, end)
    return { success: true, output: { name, version: found.version, media_type, by, content: part, ...more } }
  },
})
