import type { Context } from 'hono'
import { toTroupeError } from '../../../errors.ts'
import type { Principal } from '../auth/principal.ts'
import { refuse } from '../checks/refusal.ts'
import type { HttpEnvironment } from '../http-parts.ts'
import type { SseOptions, SseProducer } from './sse-connection.ts'
import { SSE_HEADERS, sseBody } from './sse-connection.ts'

/** How one stream is connected. */
export interface StreamConnection {
  options?: SseOptions
  headers?: Readonly<Record<string, string>>
  /** Aborted when the server stops or the client leaves: the stream ends. */
  signal: AbortSignal
  /** Called when the stream has ended or the client has left. */
  onEnd?(): void
  /** Called with the error that ended the stream. */
  onError?(error: unknown): void
  /** The client accepts gzip. */
  gzip?: boolean
  /** Ends the connection at once. */
  disconnect?(): void
}

/** The response of a stream. */
export function sseResponse(produce: SseProducer, connection: StreamConnection): Response {
  const produceUntilStopped: SseProducer = async (client) => {
    const signal = AbortSignal.any([client.signal, connection.signal])
    try {
      await produce({ signal, write: (frame) => client.write(frame) })
    } catch (thrown) {
      if (signal.aborted) return
      connection.onError?.(thrown)
      throw thrown
    } finally {
      connection.onEnd?.()
    }
  }
  const { options, headers, disconnect, gzip = false } = connection
  const body = sseBody(produceUntilStopped, options, { gzip, ...(disconnect ? { disconnect } : undefined) })
  const encoding = gzip ? { 'content-encoding': 'gzip' } : undefined
  return new Response(body, { headers: { ...SSE_HEADERS, vary: 'accept-encoding', ...headers, ...encoding } })
}

export interface ConnectionParts {
  signal: AbortSignal
  /** Counts a stream of the caller; throws 429 above the limit. Returns the function that ends it. */
  openStream(principal: Principal): () => void
  /** Told about errors that callers do not see. */
  onError?(error: Error): void
}

/** The connection of a request: counted for its caller until the stream has ended. */
export function connectionOf(context: Context<HttpEnvironment>, parts: ConnectionParts): StreamConnection {
  // Nobody would read the body, so that the stream stayed open for ever.
  if (context.req.method === 'HEAD')
    throw refuse(405, {
      code: 'method_not_allowed',
      message: 'a stream cannot be asked for its headers',
      hint: 'use GET',
    })
  const outgoing = context.env?.outgoing
  return {
    // The adapter of Node ends the body when its client leaves; others only abort the request.
    signal: outgoing ? parts.signal : AbortSignal.any([parts.signal, context.req.raw.signal]),
    onEnd: parts.openStream(context.get('principal')),
    onError: (thrown) => parts.onError?.(toTroupeError(thrown)),
    // A body with an error instead would wait for a client that does not read, and show it the error.
    ...(outgoing ? { disconnect: () => void outgoing.destroy() } : undefined),
  }
}
