import { TroupeError } from '../errors.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { ModelErrorContext } from './model-error-context.ts'
import { redactedExcerpt } from './model-error-context.ts'

/*
 * Provider packages read a stream of events out of whatever comes with status 200. A web page has none, so a wrong base
 * address would look like a model with nothing to say.
 */

type Fetch = typeof globalThis.fetch

const EVENT_STREAM_LINE = /^\s*(data|event|id|retry)?:/
const PEEK_CHARACTERS = 512

/** Lets only streams of events through. */
export function requireEventStream(
  fetch: Fetch,
  site: Pick<ModelErrorContext, 'name' | 'variables' | 'secrets'>,
): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (!response.ok || !response.body || mediaType(response.headers.get('content-type')) === 'text/event-stream') {
      return response
    }
    // Small servers name their streams wrongly or not at all, so the first words decide.
    const { start, rest } = await peek(response.body)
    if (EVENT_STREAM_LINE.test(start)) return new Response(rest, response)
    void rest.cancel().catch(() => {})
    throw invalidResponseError(site, start, isHtmlPage(start))
  }
}

/** The same for a provider object whose `fetch` is not ours: only the type of its answer is known. */
export function htmlResponseError(
  headers: Readonly<Record<string, string | undefined>> | undefined,
  site: ModelErrorContext,
): TroupeError | undefined {
  return mediaType(headers?.['content-type']) === 'text/html'
    ? invalidResponseError(site, 'a web page', true)
    : undefined
}

export function isHtmlPage(text: string): boolean {
  return /^\s*<(!doctype|html|head|body|\?xml)/i.test(text)
}

export function invalidResponseError(
  site: Pick<ModelErrorContext, 'name' | 'variables' | 'secrets'>,
  said: string,
  page: boolean,
): TroupeError {
  const what = page ? 'a web page' : 'something that is no answer of a model'
  const { base } = site.variables
  const error = new TroupeError(
    'model_invalid_response',
    `${site.name} answered with ${what}: ${redactedExcerpt(said, site.secrets)}`,
    {
      retry: !page,
      responsible: page ? 'operator' : 'model',
      hint: `check the base address${base ? ` (${base})` : ''}: it has to be the provider's API, not its website`,
    },
  )
  return Object.assign(error, page ? { usage: NO_USAGE } : undefined)
}

function mediaType(contentType: string | null | undefined): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? ''
}

async function peek(body: ReadableStream<Uint8Array>): Promise<{ start: string; rest: ReadableStream<Uint8Array> }> {
  const reader = body.getReader()
  const read: Uint8Array[] = []
  const decoder = new TextDecoder()
  let start = ''
  while (start.length < PEEK_CHARACTERS && !EVENT_STREAM_LINE.test(start)) {
    const { done, value } = await reader.read()
    if (done) break
    read.push(value)
    start += decoder.decode(value, { stream: true })
  }
  const rest = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const first = read.shift()
      if (first) return controller.enqueue(first)
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
  return { start, rest }
}
