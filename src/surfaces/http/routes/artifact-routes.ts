import { toTroupeError } from '../../../errors.ts'
import type { ArtifactRow, Troupe } from '../../../index.ts'
import * as z from '../../../schema/zod.ts'
import { refuse } from '../checks/refusal.ts'
import type { ArtifactItem, ArtifactPreview } from '../contract.ts'
import { artifactItem, artifactPreview } from '../openapi/response-schemas.ts'
import { defineRoute, queryNumber } from './route.ts'

const PREVIEW_BYTES = 200 * 1024
const PART_BYTES = 64 * 1024
const version = queryNumber.optional()

const listArtifacts = defineRoute('GET', '/api/runs/:run_id/artifacts', {
  summary: 'List every version of every artifact of a run, oldest first.',
  tag: 'artifacts',
  scope: 'read',
  response: { description: 'The artifacts without their content (`ArtifactItem[]`).', schema: z.array(artifactItem) },
  async handle({ params: { run_id = '' }, parts: { troupe } }): Promise<ArtifactItem[]> {
    const artifacts = await troupe.artifacts(run_id).all()
    return artifacts.map(({ project: _project, ...item }) => item)
  },
})

const downloadArtifact = defineRoute('GET', '/api/runs/:run_id/artifacts/:name', {
  summary: 'Download an artifact: the newest version, or the given one.',
  tag: 'artifacts',
  scope: 'read',
  query: z.strictObject({ version }),
  response: { description: 'The content, as an attachment.', type: 'application/octet-stream' },
  async handle({ params: { run_id = '', name = '' }, query, parts: { troupe } }) {
    const { content } = await findArtifact(troupe, { run_id, name, version: query.version })
    return byteResponse(Buffer.from(content), attachmentHeaders(name.split('/').at(-1) ?? 'artifact'))
  },
})

const previewArtifact = defineRoute('GET', '/api/runs/:run_id/artifacts/:name/preview', {
  summary: 'Show the first 200 KB of an artifact as text.',
  tag: 'artifacts',
  scope: 'read',
  query: z.strictObject({ version }),
  response: { description: 'The beginning of the content (`ArtifactPreview`).', schema: artifactPreview },
  async handle({ params: { run_id = '', name = '' }, query, parts: { troupe } }): Promise<ArtifactPreview> {
    const artifact = await findArtifact(troupe, { run_id, name, version: query.version })
    const { project: _project, content, ...item } = artifact
    // A character takes at most three bytes for each unit of a JavaScript string.
    const start = Buffer.from(content.slice(0, PREVIEW_BYTES))
    const text = new TextDecoder().decode(start.subarray(0, PREVIEW_BYTES), { stream: true })
    return { ...item, text, is_cut: text.length < content.length }
  },
})

/** A download, sent as the client takes it: what waits for a slow client is one part of it. */
function byteResponse(bytes: Uint8Array, headers: Readonly<Record<string, string>>): Response {
  return new Response(partsOf(bytes), { headers: { ...headers, 'content-length': String(bytes.byteLength) } })
}

function partsOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let sent = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (sent < bytes.byteLength) controller.enqueue(bytes.subarray(sent, sent + PART_BYTES))
        sent += PART_BYTES
        if (sent >= bytes.byteLength) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Prevents stored XSS: whatever an agent wrote is saved to disk, never shown as a page of this origin. */
export function attachmentHeaders(filename: string, type = 'application/octet-stream'): Record<string, string> {
  const ascii = filename.replace(/[^\w.-]/g, '_').slice(0, 100)
  return {
    'content-type': type,
    'content-disposition': `attachment; filename="${ascii}"; filename*=UTF-8''${encodeFilename(filename)}`,
  }
}

function encodeFilename(name: string): string {
  // A lone surrogate cannot be encoded.
  return encodeURIComponent(name.slice(0, 100).toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  )
}

async function findArtifact(
  troupe: Troupe,
  { run_id, name, version }: { run_id: string; name: string; version: number | undefined },
): Promise<ArtifactRow> {
  try {
    return await troupe.getArtifact(run_id, name, version)
  } catch (thrown) {
    if (toTroupeError(thrown).code !== 'invalid_input') throw thrown
    throw refuse(404, { code: 'not_found', message: 'there is no such artifact' })
  }
}

export const artifactRoutes = [listArtifacts, downloadArtifact, previewArtifact]
