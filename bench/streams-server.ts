import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { createTroupe } from '../src/index.ts'
import { errorResponseFrom } from '../src/surfaces/http/checks/error-response.ts'
import { createRequestLimits } from '../src/surfaces/http/checks/request-limits.ts'
import type { HttpEnvironment } from '../src/surfaces/http/http-parts.ts'
import { mountStreams } from '../src/surfaces/http/streams/mount-streams.ts'

/* The server process of the load test: node bench/streams-server.ts STORE STALL_MS. Tells its port, and its memory every 100 ms. */

const [store = '', stall = '20000'] = process.argv.slice(2)
const troupe = await createTroupe({ store, project: 'default', config: false })
const app = new Hono<HttpEnvironment>()
app.onError((thrown, context) => {
  const { status, body } = errorResponseFrom(thrown)
  return context.json(body, status)
})
app.use(async (context, next) => {
  context.set('principal', { name: 'bench', scopes: ['read'] })
  context.set('troupe', troupe)
  await next()
})
const stopping = new AbortController()
mountStreams(app, {
  signal: stopping.signal,
  openStream: createRequestLimits({ streams: 2000 }).openStream,
  options: { stall_ms: Number(stall) },
})
const listener = getRequestListener(app.fetch)
const server = createServer((request, response) => void listener(request, response))
server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => {
  process.send?.({ port: (server.address() as AddressInfo).port })
})
const timer = setInterval(() => process.send?.({ memory: process.memoryUsage() }, () => {}), 100)
process.on('disconnect', () => {
  clearInterval(timer)
  stopping.abort()
  server.closeAllConnections()
  server.close()
  void troupe.close()
})
