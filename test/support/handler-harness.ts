import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Troupe, TroupeOptions } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import type { HandlerCaller, HandlerOptions } from '../../src/surfaces/http/create-handler.ts'
import { createHandler } from '../../src/surfaces/http/create-handler.ts'
import { toNodeListener } from '../../src/surfaces/http/node-listener.ts'
import type { TestRequest, TestResponse } from './http-harness.ts'
import { sendRequest } from './http-harness.ts'
import { agent, modelFromRules } from './test-troupe.ts'

/** Whether the framework removes the prefix of the handler before it passes a request on, as Express and `mount` of Hono do. */
export type Prefix = 'kept' | 'removed'

export interface TestHandler {
  troupe: Troupe
  port: number
  /** Errors that only the operator sees. */
  errors: Error[]
  /** A request of a program with all scopes, or of this caller. */
  call(path: string, body?: unknown, caller?: HandlerCaller): Promise<TestResponse>
  /** Exactly this request, below the prefix. */
  send(path: string, request?: TestRequest): Promise<TestResponse>
}

export const ada: HandlerCaller = { name: 'ada', scopes: ['read', 'run', 'approve'] }

/** The header by which `authenticate` of the tests knows the caller. */
export const callerHeader = (caller: HandlerCaller) => ({ 'x-caller': JSON.stringify(caller) })

/** A handler below `/agents` in a server of `node:http`, with a real store. */
export async function startTestHandler(
  prefix: Prefix,
  options: Partial<HandlerOptions> & { troupe?: TroupeOptions } = {},
): Promise<TestHandler> {
  const { troupe: troupeOptions, ...given } = options
  const folder = await mkdtemp(join(tmpdir(), 'troupe-handler-'))
  const troupe = await createTroupe({
    config: false,
    store: join(folder, 'store'),
    agents: [agent('lead')],
    model: modelFromRules({ reply: { text: 'Done.' } }),
    embedder: false,
    ...troupeOptions,
  })
  const errors: Error[] = []
  const handler = createHandler(troupe, {
    authenticate: ({ headers }) => JSON.parse(headers.get('x-caller') ?? 'null') as HandlerCaller | null,
    basePath: '/agents',
    onError: (error) => void errors.push(error),
    ...given,
  })
  const listener = toNodeListener(handler)
  const server = createServer((request, response) => {
    if (prefix === 'removed') request.url = request.url?.replace(/^\/agents(?=$|[/?])/, '').replace(/^(?!\/)/, '/')
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await troupe.close()
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const { port } = server.address() as AddressInfo
  const send = (path: string, request?: TestRequest) => sendRequest({ port, path: `/agents${path}` }, request)
  return {
    ...{ troupe, port, errors, send },
    call(path, body, caller = ada) {
      const headers = { ...callerHeader(caller), 'x-troupe-request': '1' }
      return send(path, body === undefined ? { headers } : { method: 'POST', headers, body })
    },
  }
}
