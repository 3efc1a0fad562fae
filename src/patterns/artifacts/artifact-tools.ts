import { unknownNameError } from '../../errors.ts'
import type { Context } from '../../kernel/context.ts'
import { definePattern } from '../../kernel/pattern.ts'
import * as z from '../../schema/zod.ts'

/** A slash only groups names. It is never used as a file path, so path traversal is not possible. */
const artifactName = z
  .string()
  .min(1)
  .max(200)
  .regex(
    /^[\p{L}\p{N}][\p{L}\p{N} ._/-]*$/u,
    'must start with a letter or digit; then letters, digits, space and . _ - / are allowed',
  )
  .describe('Such as `design/api.md`.')

const writeInput = z.object({
  name: artifactName,
  content: z.string().max(1_000_000).describe('The whole text.'),
  media_type: z.string().max(100).optional().describe('Default: text/plain.'),
})

/** Stores a new version of an artifact that all agents of the run can read. */
export const artifactWrite = definePattern({
  name: 'ArtifactWrite',
  only: 'tool',
  version: 1,
  description:
    'Store a text (a report, a design, a list) for other agents of this run. Writing the same name again creates a new version.',
  category: 'action',
  on_request: 'or for artifacts',
  input: writeInput,
  output: z.object({ name: z.string(), version: z.number(), checksum: z.string(), size: z.number() }),
  async execute(context, { name, content, media_type }) {
    const artifact = { name, content, ...(media_type === undefined ? undefined : { media_type }) }
    return { success: true, output: await context.writeArtifact('write', artifact) }
  },
})

const PAGE_CHARS = 50_000
const MAX_LISTED = 200

const readInput = z.object({
  // Files become artifacts under their paths, which have no restrictions.
  name: z.string().min(1).optional().describe('Or the path of a file. Omit it to list the artifacts.'),
  version: z.number().int().min(1).optional().describe('Default: the newest version.'),
  offset: z.number().int().min(0).optional().describe('Characters to skip.'),
})

/** Reads an artifact of the run, one page at a time, or lists the newest versions. */
export const artifactRead = definePattern({
  name: 'ArtifactRead',
  only: 'tool',
  version: 1,
  description: 'Read an artifact of this run, or list all of them: name, version, author and bytes.',
  category: 'perception',
  on_request: 'or for artifacts',
  input: readInput,
  output: z.union([
    z.object({ name: z.string(), version: z.number(), content: z.string() }),
    z.object({
      artifacts: z.array(z.object({ name: z.string(), version: z.number(), by: z.string(), size: z.number() })),
    }),
  ]),
  async execute(context, { name, version, offset = 0 }) {
    if (name === undefined) return { success: true, output: listing(await context.artifacts('listed')) }
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

/** The newest version of each name, the one written last first. */
function listing(written: Awaited<ReturnType<Context['artifacts']>>) {
  const newest = new Map<string, (typeof written)[number]>()
  for (const each of written.toReversed()) if (!newest.has(each.name)) newest.set(each.name, each)
  const artifacts = [...newest.values()].map(({ name, version, by, size }) => ({ name, version, by, size }))
  const left = artifacts.length - MAX_LISTED
  return { artifacts: artifacts.slice(0, MAX_LISTED), ...(left > 0 && { more: `${left} older ones are not listed` }) }
}
