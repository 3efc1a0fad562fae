import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { realWorld } from '../../src/engine/real-world.ts'
import { createRetryPolicy } from '../../src/entries/models.ts'
import type { Troupe } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import type { Protocol } from '../e2e/provider-harness.ts'
import { loadModelAt } from '../e2e/provider-harness.ts'
import type { ProviderResponse } from '../e2e/provider-responses.ts'
import { RESPONSE_ENCODERS } from '../e2e/provider-responses.ts'

/** Writes the response to the n-th request, from 1. */
export type Respond = (response: ServerResponse, n: number) => void | Promise<void>

export interface ProviderServer {
  url: string
  respond: Respond
  /** Requests so far. */
  requests: number
  /** Connections that the client closed before the response ended. */
  closed: number
  close(): Promise<void>
}

/** A provider on loopback whose streams are written by hand. */
export async function startProviderServer(): Promise<ProviderServer> {
  const server = createServer((incoming, response) => {
    incoming.resume()
    incoming.once('end', () => {
      double.requests += 1
      response.once('close', () => {
        if (!response.writableFinished) double.closed += 1
      })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      void double.respond(response, double.requests)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const double: ProviderServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    respond: (response) => void response.end(),
    requests: 0,
    closed: 0,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return double
}

export const USAGE = { input: 120, cache_read: 0, cache_write: 0, output: 30, reasoning: 0 }

/** A response in the protocol, as its server-sent events. */
export function encode(protocol: string, response: ProviderResponse): string[] {
  const events = RESPONSE_ENCODERS[protocol]?.({ usage: USAGE, ...response }) ?? ''
  return events.split('\n\n').flatMap((event) => (event === '' ? [] : `${event}\n\n`))
}

/** The events of a response up to the one that has `text`. Gemini sends that one with the end, which is removed. */
export function encodeStart(protocol: string, response: ProviderResponse, text: string): string[] {
  const events = encode(protocol, response)
  const start = events.slice(0, events.findIndex((event) => event.includes(text)) + 1)
  return start.map((event) => event.replace(/,"finishReason":"STOP"|,"usageMetadata":\{[^}]*\}/g, ''))
}

/** An error in the middle of a stream, as the protocol has it. */
export function encodeError(protocol: string, code: string): string {
  const message = 'planted'
  if (protocol === 'Gemini') {
    const [status, number] = GEMINI_CODES[code] ?? ['INVALID_ARGUMENT', 400]
    return `data: ${JSON.stringify({ error: { code: number, message, status } })}\n\n`
  }
  const error = { type: code, code, message, param: null }
  if (protocol === 'Anthropic') return `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`
  if (protocol === 'OpenAI responses')
    return `event: error\ndata: ${JSON.stringify({ type: 'error', sequence_number: 9, error })}\n\n`
  return `data: ${JSON.stringify({ error })}\n\n`
}

const GEMINI_CODES: Readonly<Record<string, [string, number]>> = {
  server_error: ['INTERNAL', 500],
  rate_limit_exceeded: ['RESOURCE_EXHAUSTED', 429],
  overloaded_error: ['UNAVAILABLE', 503],
}

/** A troupe with this server as its model, whose retries do not wait. */
export async function troupeAt(
  protocol: Protocol,
  { url }: ProviderServer,
  options: { idle_timeout_ms?: number; output?: number } = {},
): Promise<Troupe> {
  const { idle_timeout_ms, output } = options
  const policy = createRetryPolicy({ world: realWorld() })
  const next: typeof policy.next = (failed) => {
    const retry = policy.next(failed)
    return retry && { ...retry, delay_ms: 0 }
  }
  return createTroupe({
    store: 'memory',
    embedder: false,
    model: await loadModelAt(protocol, url),
    agents: [{ name: 'worker', description: 'works', instructions: 'You work.', tools: ['look'] }],
    tools: [
      {
        name: 'look',
        description: 'Looks.',
        kind: 'read',
        category: 'perception',
        input: { type: 'object', properties: { path: { type: 'string' } } },
        execute: async () => 'nothing there',
      } as never,
    ],
    ...(idle_timeout_ms === undefined ? undefined : { models: { idle_timeout_ms } }),
    ...(output === undefined ? undefined : { limits: { output } }),
    engine: { retryPolicy: { ready: () => undefined, next } },
  })
}
