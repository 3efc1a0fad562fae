import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { ResponseHead, TransportObserver } from '../kernel/request-progress.ts'

/*
 * Tells an observer when the first byte of a request is written and when bytes of its response arrive. Between the call of `fetch` and
 * the first byte are DNS, TCP and TLS: a process that is killed there has paid nothing.
 * 1. `onSend` is called before the byte is written, never after it.
 * 2. Another `fetch` than that of Node says nothing about its connection: its requests count as sent at once.
 */

type Fetch = typeof globalThis.fetch

export interface ObservedCall {
  observer: TransportObserver | undefined
  /** True once the HTTP client of Node has taken the request. */
  isSeen?: boolean
  /** Names the step that sends the request. */
  name?: string
  /** The head of the response, once it has arrived. */
  head?: ResponseHead
}

const calls = new AsyncLocalStorage<ObservedCall>()
/** By request of the HTTP client, which knows nothing of the call when it writes. */
const requests = new WeakMap<object, ObservedCall>()
let isSubscribed = false

export function currentCall(): ObservedCall | undefined {
  return calls.getStore()
}

/** Performs a call whose requests, by a `fetch` of `observeFetch`, are reported. */
export function observe<T>(call: ObservedCall, perform: () => T): T {
  return calls.run(call, perform)
}

export function observeFetch(fetch: Fetch): Fetch {
  return async (input, init) => {
    const call = calls.getStore()
    if (!call) return fetch(input, init)
    subscribeToClient()
    call.isSeen = false
    const pending = fetch(input, init)
    setImmediate(() => {
      if (!call.isSeen) call.observer?.onSend()
    })
    const response = await pending
    call.head = headOf(response)
    call.observer?.onReceive(0)
    call.observer?.onHead?.(call.head)
    return response.ok && response.body ? new Response(observeBody(response.body, call.observer), response) : response
  }
}

/** The names of the header in the APIs of providers and clouds. */
const REQUEST_ID_HEADERS = ['request-id', 'x-request-id', 'apim-request-id', 'x-amzn-requestid']
const MAX_REQUEST_ID = 200

function headOf({ status, headers }: Response): ResponseHead {
  const request_id = REQUEST_ID_HEADERS.map((name) => headers.get(name)).find((id) => id)
  return request_id ? { status, request_id: request_id.slice(0, MAX_REQUEST_ID) } : { status }
}

function observeBody(
  body: ReadableStream<Uint8Array>,
  observer: TransportObserver | undefined,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      observer?.onReceive(0)
      controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

/** The diagnostics channels of undici, the HTTP client behind `fetch`; the second is published right before the write. */
function subscribeToClient(): void {
  if (isSubscribed) return
  isSubscribed = true
  subscribe('undici:request:create', (message) => {
    const call = calls.getStore()
    if (!call) return
    call.isSeen = true
    requests.set((message as { request: object }).request, call)
  })
  subscribe('undici:client:sendHeaders', (message) => {
    requests.get((message as { request: object }).request)?.observer?.onSend()
  })
}
