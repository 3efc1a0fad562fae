/*
 * Memory exhaustion: the MCP client reads a response, or an event of a stream, as a whole. A response that goes on forever must not fill the
 * memory of this process.
 */

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/** As of servers with the stdio transport. */
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024

/** Like the given `fetch`; a body fails when one message in it exceeds the limit. A stream of events may go on as long as it likes. */
export function limitMessages(fetchResponse: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetchResponse(url, init)
    const { body, status, statusText, headers } = response
    if (!body) return response
    const isStream = headers.get('content-type')?.includes('text/event-stream') ?? false
    const limited = new Response(body.pipeThrough(limitBody(isStream)), { status, statusText, headers })
    // Redirects are resolved against it.
    return Object.defineProperty(limited, 'url', { value: response.url })
  }
}

function limitBody(isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let size = 0
  let tail = ''
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.byteLength
      if (isStream) {
        // An empty line ends an event; it may be in two chunks.
        const text = tail + Buffer.from(chunk).toString('latin1')
        const end = Math.max(...['\n\n', '\r\r', '\n\r\n'].map((mark) => text.lastIndexOf(mark)))
        if (end >= 0) size = text.length - end
        tail = text.slice(-2)
      }
      if (size > MAX_MESSAGE_BYTES) throw new Error(`a message exceeds ${MAX_MESSAGE_BYTES} bytes`)
      controller.enqueue(chunk)
    },
  })
}
