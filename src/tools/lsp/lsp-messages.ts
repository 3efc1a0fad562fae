import type { Readable, Writable } from 'node:stream'

/** A message of the language server protocol; which fields it has tells what it is. */
export interface LspMessage {
  id?: number | string
  method?: string
  params?: unknown
  result?: unknown
  error?: { code: number; message: string }
}

/** More than any sane answer; a server that sends it is broken. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

/** Cuts the stream into messages. A stream that makes no sense is reported once and then ignored. */
export function readLspMessages(
  stream: Readable,
  take: (message: LspMessage) => void,
  broken: (why: string) => void,
): void {
  let waiting: Buffer = Buffer.alloc(0)
  let over = false
  const fail = (why: string) => {
    over = true
    waiting = Buffer.alloc(0)
    broken(why)
  }
  stream.on('data', (chunk: Buffer) => {
    if (over) return
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk])
    for (;;) {
      const end = waiting.indexOf('\r\n\r\n')
      if (end === -1) {
        if (waiting.length > 8192) fail('it does not speak the language server protocol')
        return
      }
      const length = Number(/content-length: *(\d+)/i.exec(waiting.toString('latin1', 0, end))?.[1] ?? Number.NaN)
      if (!(length <= MAX_MESSAGE_BYTES)) return fail('it sent a message of no reasonable length')
      if (waiting.length < end + 4 + length) return
      const body = waiting.toString('utf8', end + 4, end + 4 + length)
      waiting = waiting.subarray(end + 4 + length)
      try {
        take(JSON.parse(body) as LspMessage)
      } catch {
        return fail('it sent something that is not JSON')
      }
    }
  })
}

export function writeLspMessage(stream: Writable, message: LspMessage): void {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))
  stream.write(`Content-Length: ${body.length}\r\n\r\n`)
  stream.write(body)
}
