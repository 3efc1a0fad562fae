import { z } from 'zod'
import { unknownNameError } from '../../errors.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { artifactName } from './artifact-name.ts'

const PAGE_CHARS = 50_000

const input = z.object({
  name: artifactName,
  version: z.number().int().min(1).optional().describe('Default: the newest version.'),
  offset: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('The number of characters to skip. Use it to read the next page.'),
})

/** Reads an artifact of the run, one page at a time. */
export const artifactRead = definePattern<z.output<typeof input>>({
  name: 'ArtifactRead',
  version: 1,
  description: 'Read an artifact of this run by name: the newest version or an older one.',
  category: 'perception',
  delegates: false,
  on_request: true,
  input,
  output: z.object({ name: z.string(), version: z.number(), content: z.string() }),
  async execute(context, { name, version, offset = 0 }) {
    const artifact = await context.readArtifact('read', { name, ...(version === undefined ? undefined : { version }) })
    if (!artifact) {
      const refs = await context.artifacts('known')
      const requested = version === undefined ? name : `${name} (version ${version})`
      const names = refs.map((ref) => (version === undefined ? ref.name : `${ref.name} (version ${ref.version})`))
      throw unknownNameError('tool_failed', { kind: 'artifact', name: requested, known: [...new Set(names)] })
    }
    const { content, media_type, by } = artifact
    const end = Math.min(content.length, offset + PAGE_CHARS)
    const more = end < content.length ? { more: `continue with offset ${end} of ${content.length}` } : undefined
    return {
      success: true,
      output: { name, version: artifact.version, media_type, by, content: content.slice(offset, end), ...more },
    }
  },
})
