import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { TransportObserver } from '../kernel/request-progress.ts'

/*
 * Tells an observer when the first byte of a request is written and when bytes of its response arrive. Between the call of `fetch` and
 * the first byte are DNS, TCP and TLS: a process that is killed there has paid nothing.
 * 1. `onSend` is called before the byte is written, never after it.
 * 2. Another `fetch` than that of Node says nothing about its connection: its requests count as sent at once.
 */

type Fetch = typeof globalThis.fetch

interface ObservedCall {
  observer: TransportObserver
  /** True once the HTTP client of Node has taken the request. */
  isSeen: boolean
}

const calls = new AsyncLocalStorage<ObservedCall>()
/** By request of the HTTP client, which knows nothing of the call when it writes. */
const requests = new WeakMap<object, ObservedCall>()
let isSubscribed = false

/** Performs a call whose requests, by a `fetch` of `observeFetch`, are reported. */
export function observe<T>(observer: TransportObserver, call: () => T): T {
  return calls.run({ observer, isSeen: false }, call)
}

export function observeFetch(fetch: Fetch): Fetch {
  return async (input, init) => {
    const call = calls.getStore()
    if (!call) return fetch(input, init)
    subscribeToClient()
    call.isSeen = false
    const pending = fetch(input, init)
    setImmediate(() => {
      if (!call.isSeen) call.observer.onSend()
    })
    const response = await pending
    call.observer.onReceive(0)
    return response.ok && response.body ? new Response(observeBody(response.body, call.observer), response) : response
  }
}

function observeBody(body: ReadableStream<Uint8Array>, observer: TransportObserver): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      observer.onReceive(0)
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
    requests.get((message as { request: object }).request)?.observer.onSend()
  })
}
