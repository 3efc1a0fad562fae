import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Context } from 'hono'
import type { HttpEnvironment } from '../http-parts.ts'

/*
 * Responses for clients that accept gzip.
 * 1. What is shorter than a network packet is sent as it is.
 * 2. A response with a secret (the CSRF token of a session) is never compressed: its length could tell parts of it (BREACH).
 */

const compress = promisify(gzip)

/** About the size of a network packet: less would not arrive sooner. */
const LEAST_BYTES = 1400

/** The encodings that a response may have. Other servers than Node's, such as those of frameworks, compress responses themselves. */
export function acceptedEncoding({ env, req }: Context<HttpEnvironment>): string | undefined {
  return env?.outgoing ? req.header('accept-encoding') : undefined
}

/** Whether `Accept-Encoding` names gzip and does not exclude it with `q=0`. */
export function acceptsGzip(header: string | undefined): boolean {
  const encodings = (header ?? '').toLowerCase().split(',')
  return encodings.some((encoding) => {
    const [name = '', ...parameters] = encoding.split(';').map((part) => part.trim())
    return (name === 'gzip' || name === '*') && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}

export interface TextBody {
  body: string | Uint8Array<ArrayBuffer>
  headers: Readonly<Record<string, string>>
}

/** The body of a response for a client with this `Accept-Encoding`. `packed` is the compressed text, if it is known. */
export async function textBody(
  text: string,
  accepted: string | undefined,
  packed?: Promise<Buffer>,
): Promise<TextBody> {
  const headers = { vary: 'accept-encoding' }
  if (text.length < LEAST_BYTES || !acceptsGzip(accepted)) return { body: text, headers }
  const content = await (packed ?? compress(text, { level: 5 }))
  return { body: new Uint8Array(content), headers: { ...headers, 'content-encoding': 'gzip' } }
}

/** Compresses texts that seldom change once, such as the files of the page. */
export function createTextCompressor(): (name: string, text: string) => Promise<Buffer> {
  const known = new Map<string, { text: string; packed: Promise<Buffer> }>()
  return (name, text) => {
    const before = known.get(name)
    if (before?.text === text) return before.packed
    const packed = compress(text, { level: 9 })
    packed.catch(() => known.delete(name))
    known.set(name, { text, packed })
    return packed
  }
}
