import { chmod, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { createServer, STATUS_CODES } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { authenticate } from './auth/authenticate.ts'
import type { Credentials } from './auth/credentials.ts'
import { pageSessionRoutes } from './auth/page-session-routes.ts'
import { addSecurityHeaders, SECURITY_HEADERS } from './checks/browser-checks.ts'
import type { ErrorBody } from './contract.ts'
import { createHttpApp } from './http-app.ts'
import type { HttpParts } from './http-parts.ts'
import { toNodeListener } from './node-listener.ts'
import type { PageFile } from './page/page-files.ts'

/** Where to listen: a port of an address, or a Unix socket. */
export interface ListenOptions {
  host: string
  port: number
  socket?: string
  tls?: { cert: string; key: string }
  /** A proxy in front does the encryption. */
  behindProxy?: boolean
  /** Names that clients use besides the address: `troupe.example.com`. */
  publicHosts?: readonly string[]
}

export interface ServerParts extends Omit<HttpParts, 'basePath' | 'signal'> {
  credentials: Credentials
  readPageFile(name: string): Promise<PageFile | undefined>
}

/** Facts that are known when the server listens. */
interface AllowedHosts {
  /** Values of the `Host` header, in lower case: such as `127.0.0.1:4747`. */
  names: ReadonlySet<string>
  /** The name of the cookie: browsers do not keep cookies of different ports apart. */
  cookie: string
}

export interface HttpServer {
  /** `http://127.0.0.1:4747`, or the path of the socket. */
  readonly address: string
  readonly port: number | undefined
  /** Ends streams, waits for requests in flight, and closes. */
  close(): Promise<void>
}

const SHUTDOWN_MS = 2000
const MAX_CONNECTIONS = 2000
const MAX_HEADER_BYTES = 16 * 1024

/** Starts to listen. Rejects with the error of the system, such as `EADDRINUSE`. */
export async function startHttpServer(parts: ServerParts, options: ListenOptions): Promise<HttpServer> {
  const stopping = new AbortController()
  const hosts: AllowedHosts = { names: new Set(), cookie: '' }
  const { credentials } = parts
  const app = createHttpApp({
    ...parts,
    ...{ basePath: '', origins: [], signal: stopping.signal },
    authenticate: (context) => authenticate(context, { credentials, cookie: hosts.cookie }),
    routes: pageSessionRoutes(credentials, () => hosts.cookie),
  })
  const listener = toNodeListener((request, bindings) =>
    isKnownHost(request, hosts) ? app.fetch(request, bindings) : addSecurityHeaders(misdirected()),
  )
  // `Host` is checked before the application, with a response that has all headers.
  const limits = {
    requireHostHeader: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 10_000,
    requestTimeout: 30_000,
  }
  const server = options.tls ? createTlsServer({ ...limits, ...options.tls }, listener) : createServer(limits, listener)
  server.maxConnections = MAX_CONNECTIONS
  answerBadRequests(server)
  await listen(server, options)
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? (address as AddressInfo).port : undefined
  Object.assign(hosts, allowedHosts(options, port))
  return {
    address: addressText(options, port),
    port,
    async close() {
      stopping.abort()
      await closeServer(server)
      if (options.socket !== undefined) await rm(options.socket, { force: true })
    },
  }
}

/** Prevents DNS rebinding: a name of an attacker that resolves to this machine reaches nothing, not even a login. */
function isKnownHost(request: Request, { names }: AllowedHosts): boolean {
  return names.has(request.headers.get('host')?.toLowerCase() ?? '')
}

function misdirected(): Response {
  const error = {
    code: 'misdirected',
    message: 'this server does not answer for that `Host`',
    hint: 'use the address that `troupe serve` printed; the operator adds names with `--public-host`',
  }
  return Response.json({ error } satisfies ErrorBody, { status: 421 })
}

/** Statuses of errors of the parser; 400 for all others. */
const STATUS: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }

/** Answers what the HTTP parser refuses, before there is a request, like every other error: with the security headers. */
function answerBadRequests(server: Server): void {
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

async function listen(server: Server, { host, port, socket }: ListenOptions): Promise<void> {
  // A socket is created with the rights of the umask: nobody else may connect before it has its own (race condition).
  const umask = socket === undefined ? undefined : process.umask(0o177)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.once('listening', resolve)
      if (socket === undefined) server.listen(port, host)
      else server.listen(socket)
    })
  } finally {
    if (umask !== undefined) process.umask(umask)
  }
  if (socket !== undefined) await chmod(socket, 0o600)
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), SHUTDOWN_MS)
    server.close(() => {
      clearTimeout(force)
      resolve()
    })
    server.closeIdleConnections()
  })
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

export function isLoopback(host: string): boolean {
  return ['127.0.0.1', 'localhost', '::1', '[::1]'].includes(host.toLowerCase())
}

function allowedHosts({ host, socket, publicHosts = [] }: ListenOptions, port: number | undefined): AllowedHosts {
  const own = socket === undefined && !isLoopback(host) ? [] : LOOPBACK
  const withPort = port === undefined ? own : own.map((name) => `${name}:${port}`)
  const names = [...withPort, ...publicHosts].map((name) => name.toLowerCase())
  return { names: new Set(names), cookie: `__Host-troupe-${port ?? 'socket'}` }
}

function addressText(options: ListenOptions, port: number | undefined): string {
  const { host, socket, tls, behindProxy = false, publicHosts: [publicHost] = [] } = options
  if (socket !== undefined) return socket
  const name = publicHost ?? `${host.includes(':') ? `[${host}]` : host}:${port}`
  return `${tls || behindProxy ? 'https' : 'http'}://${name}`
}
