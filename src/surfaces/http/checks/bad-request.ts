import type { Server } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { ErrorBody } from '../contract.ts'
import { SECURITY_HEADERS } from './browser-checks.ts'

/** Statuses of errors of the parser; 400 for all others. */
const STATUS: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }

/** Answers what the HTTP parser refuses, before there is a request, like every other error: with the security headers. */
export function answerBadRequests(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // The parser names the code of a client that has left, too.
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const status = STATUS[error.code ?? ''] ?? 400
    const body = bodyOf(status)
    const headers = { ...headersOf(body), connection: 'close' }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  })
  server.on('checkExpectation', (_request, response) => {
    const body = bodyOf(417)
    response.writeHead(417, { ...headersOf(body), connection: 'close' }).end(body)
  })
}

function bodyOf(status: number): string {
  const error = { code: 'invalid_input', message: (STATUS_CODES[status] ?? 'bad request').toLowerCase() }
  return JSON.stringify({ error } satisfies ErrorBody)
}

function headersOf(body: string): Record<string, string> {
  return {
    ...SECURITY_HEADERS,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
  }
}
