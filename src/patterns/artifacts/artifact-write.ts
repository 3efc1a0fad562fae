import { z } from 'zod'
import { definePattern } from '../../kernel/pattern.ts'
import { artifactName } from './artifact-name.ts'

const input = z.object({
  name: artifactName,
  content: z.string().max(1_000_000).describe('The whole content. Every write creates a new version.'),
  media_type: z.string().max(100).optional().describe('For example text/markdown. Default: text/plain.'),
})

/** Stores a new version of an artifact that all agents of the run can read. */
export const artifactWrite = definePattern<z.output<typeof input>>({
  name: 'ArtifactWrite',
  version: 1,
  description:
    'Store an artifact (a report, a design, a list) under a name, for other agents in this run. Writing the same name ' +
    'again creates a new version; older versions stay readable.',
  category: 'action',
  delegates: false,
  on_request: true,
  input,
  output: z.object({ name: z.string(), version: z.number(), checksum: z.string(), size: z.number() }),
  async execute(context, { name, content, media_type }) {
    const artifact = { name, content, ...(media_type === undefined ? undefined : { media_type }) }
    return { success: true, output: await context.writeArtifact('write', artifact) }
  },
})
