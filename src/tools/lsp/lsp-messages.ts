import type { Readable, Writable } from 'node:stream'

/** A JSON-RPC message of the Language Server Protocol: request, notification or response. */
export interface LspMessage {
  id?: number | string
  method?: string
  params?: unknown
  result?: unknown
  error?: { code: number; message: string }
}

/** Prevents memory exhaustion by a broken or hostile server. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

/** Splits the stream into messages. A protocol error is reported once; later data is ignored. */
export function readLspMessages(
  stream: Readable,
  onMessage: (message: LspMessage) => void,
  onError: (reason: string) => void,
): void {
  let buffered: Buffer = Buffer.alloc(0)
  let failed = false
  const fail = (reason: string) => {
    failed = true
    buffered = Buffer.alloc(0)
    onError(reason)
  }
  stream.on('data', (chunk: Buffer) => {
    if (failed) return
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk])
    for (;;) {
      const end = buffered.indexOf('\r\n\r\n')
      if (end === -1) {
        if (buffered.length > 8192) fail('its output is not the Language Server Protocol')
        return
      }
      const length = Number(/content-length: *(\d+)/i.exec(buffered.toString('latin1', 0, end))?.[1] ?? Number.NaN)
      if (!(length <= MAX_MESSAGE_BYTES)) return fail('it sent an invalid Content-Length')
      if (buffered.length < end + 4 + length) return
      const body = buffered.toString('utf8', end + 4, end + 4 + length)
      buffered = buffered.subarray(end + 4 + length)
      try {
        onMessage(JSON.parse(body) as LspMessage)
      } catch {
        return fail('it sent invalid JSON')
      }
    }
  })
}

export function writeLspMessage(stream: Writable, message: LspMessage): void {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))
  stream.write(`Content-Length: ${body.length}\r\n\r\n`)
  stream.write(body)
}
