import { z } from 'zod'
import { definePattern } from '../../kernel/pattern.ts'
import { artifactName } from './artifact-name.ts'

const input = z.object({
  name: artifactName,
  content: z.string().max(1_000_000).describe('All of it; every write makes a new version.'),
  media_type: z.string().max(100).optional().describe('For example text/markdown; text/plain unless given.'),
})

/** A named piece of work that others in the run can refer to and read. */
export const artifactWrite = definePattern<z.output<typeof input>>({
  name: 'ArtifactWrite',
  version: 1,
  description:
    'Keep a piece of work (a report, a design, a list) under a name, for others in this run. Writing the same name again ' +
    'makes its next version; older ones stay readable.',
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
