import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { addSecurityHeaders } from './checks/browser-checks.ts'

/** The request of `node:http`. The declarations of the adapter need types of browsers. */
export interface NodeBindings {
  incoming: IncomingMessage
  outgoing: ServerResponse
}

/** A listener for `node:http` and Express that answers with this handler. */
export function toNodeListener(
  handler: (request: Request, bindings: NodeBindings) => Response | Promise<Response>,
): (request: IncomingMessage, response: ServerResponse) => void {
  const listener = getRequestListener((request, bindings) => handler(request, bindings as NodeBindings), {
    overrideGlobalObjects: false,
    // A request that the adapter cannot even represent, such as one without `Host`.
    errorHandler: () =>
      addSecurityHeaders(Response.json({ error: { code: 'invalid_input', message: 'bad request' } }, { status: 400 })),
  })
  return (request, response) => {
    restoreBody(request)
    void listener(request, response)
  }
}

/** A framework such as Express may have read and parsed the body already. */
function restoreBody(request: IncomingMessage & { body?: unknown; rawBody?: Buffer }): void {
  if (!request.readableEnded || request.body === undefined || request.rawBody) return
  const { body } = request
  const isRead = typeof body === 'string' || body instanceof Uint8Array
  request.rawBody = Buffer.from(isRead ? body : JSON.stringify(body))
}
