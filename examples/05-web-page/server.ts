import { readFile } from 'node:fs/promises'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { Troupe } from 'troupe'

/** Serves a page that starts a run and shows its events while they happen. For one user on this machine: it has no login. */
export function createRunServer(troupe: Troupe): Server {
  return createServer((request, response) => {
    respond(troupe, request, response).catch((error: Error) => {
      if (!response.headersSent) response.writeHead(500)
      response.end(error.message)
    })
  })
}

async function respond(troupe: Troupe, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1')
  const run_id = /^\/runs\/([^/]+)\/events$/.exec(pathname)?.[1]
  if (request.method === 'POST' && pathname === '/runs') await startRun(troupe, request, response)
  else if (run_id) await sendEvents(troupe, { run_id, request, response })
  else if (pathname === '/') {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(await readFile(new URL('page.html', import.meta.url)))
  } else response.writeHead(404).end('not found')
}

/** Starts the run and responds at once: the run goes on when the browser leaves. */
async function startRun(troupe: Troupe, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let instruction = ''
  for await (const chunk of request) instruction += String(chunk)
  const { run_id } = await troupe.stream('task', { agent: 'default', instruction })
  response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify({ run_id }))
}

interface EventRequest {
  run_id: string
  request: IncomingMessage
  response: ServerResponse
}

/** Server-sent events. The id of each is its `seq`: after a lost connection the browser sends the last one, and none is missed. */
async function sendEvents(troupe: Troupe, { run_id, request, response }: EventRequest): Promise<void> {
  const disconnected = new AbortController()
  response.on('close', () => disconnected.abort())
  const after = Number(request.headers['last-event-id'] ?? 0)
  const events = troupe.watch(run_id, { after, signal: disconnected.signal })
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  for await (const { seq, type, session_id, data } of events) {
    response.write(`id: ${seq}\ndata: ${JSON.stringify({ type, session_id, data })}\n\n`)
  }
  response.end('event: end\ndata: {}\n\n')
}
