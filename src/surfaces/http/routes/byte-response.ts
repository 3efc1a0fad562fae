import { refuse } from '../checks/refusal.ts'

/*
 * A download, whole or in part (RFC 9110, 14). The bytes are sent as the client takes them: what waits for a slow client is one part of them.
 */

const PART_BYTES = 64 * 1024

export interface ByteResponseOptions {
  headers: Readonly<Record<string, string>>
  checksum: string
  /** `Range` of the request. */
  range: string | undefined
}

export function byteResponse(bytes: Uint8Array, { headers, checksum, range }: ByteResponseOptions): Response {
  const asked = range === undefined ? undefined : parseRange(range, bytes.byteLength)
  const { start, end } = asked ?? { start: 0, end: bytes.byteLength }
  return new Response(partsOf(bytes.subarray(start, end)), {
    status: asked ? 206 : 200,
    headers: {
      ...headers,
      'content-length': String(end - start),
      'accept-ranges': 'bytes',
      etag: `"${checksum}"`,
      ...(asked ? { 'content-range': `bytes ${start}-${end - 1}/${bytes.byteLength}` } : undefined),
    },
  })
}

/** One range of bytes, the end not included. What is no single range is ignored, as the standard allows; one outside of the content is refused. */
function parseRange(header: string, length: number): { start: number; end: number } | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header.trim()) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  const start = first === '' ? Math.max(0, length - Number(last)) : Number(first)
  const end = first === '' || last === '' ? length : Math.min(length, Number(last) + 1)
  if (start < end) return { start, end }
  throw refuse(416, { code: 'range', message: '`Range` is outside of the content', hint: `it has ${length} bytes` })
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
