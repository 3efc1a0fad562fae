import { TroupeError } from '../errors.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { ModelErrorContext } from './model-error-context.ts'
import { redactedExcerpt } from './model-error-context.ts'

/*
 * Provider packages parse any response with status 200 as server-sent events. A web page contains none, so a wrong base URL
 * would look like a model with an empty response.
 */

type Fetch = typeof globalThis.fetch

const EVENT_STREAM_LINE = /^\s*(data|event|id|retry)?:/
const PEEK_CHARACTERS = 512

/** Wraps `fetch` so that a successful response that is not an event stream fails with `model_invalid_response`. */
export function requireEventStream(
  fetch: Fetch,
  context: Pick<ModelErrorContext, 'name' | 'variables' | 'secrets'>,
): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (!response.ok || !response.body || mediaType(response.headers.get('content-type')) === 'text/event-stream') {
      return response
    }
    // Small servers send a wrong content type or none, so the first characters decide.
    const { start, rest } = await peek(response.body)
    if (EVENT_STREAM_LINE.test(start)) return new Response(rest, response)
    void rest.cancel().catch(() => {})
    throw invalidResponseError(context, start, isHtmlPage(start))
  }
}

/** The same check for a provider object with its own `fetch`, by content type only. */
export function htmlResponseError(
  headers: Readonly<Record<string, string | undefined>> | undefined,
  context: ModelErrorContext,
): TroupeError | undefined {
  return mediaType(headers?.['content-type']) === 'text/html'
    ? invalidResponseError(context, 'content-type text/html', true)
    : undefined
}

export function isHtmlPage(text: string): boolean {
  return /^\s*<(!doctype|html|head|body|\?xml)/i.test(text)
}

export function invalidResponseError(
  context: Pick<ModelErrorContext, 'name' | 'variables' | 'secrets'>,
  body: string,
  isPage: boolean,
): TroupeError {
  const kind = isPage ? 'a web page' : 'an invalid response'
  const { base } = context.variables
  const error = new TroupeError(
    'model_invalid_response',
    `${context.name} returned ${kind}: ${redactedExcerpt(body, context.secrets)}`,
    {
      retry: !isPage,
      responsible: isPage ? 'operator' : 'model',
      hint: `check the base URL${base ? ` (${base})` : ''}: it must be the provider's API, not its website`,
    },
  )
  return Object.assign(error, isPage ? { usage: NO_USAGE } : undefined)
}

function mediaType(contentType: string | null | undefined): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? ''
}

async function peek(body: ReadableStream<Uint8Array>): Promise<{ start: string; rest: ReadableStream<Uint8Array> }> {
  const reader = body.getReader()
  const buffered: Uint8Array[] = []
  const decoder = new TextDecoder()
  let start = ''
  while (start.length < PEEK_CHARACTERS && !EVENT_STREAM_LINE.test(start)) {
    const { done, value } = await reader.read()
    if (done) break
    buffered.push(value)
    start += decoder.decode(value, { stream: true })
  }
  const rest = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const first = buffered.shift()
      if (first) return controller.enqueue(first)
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
  return { start, rest }
}
