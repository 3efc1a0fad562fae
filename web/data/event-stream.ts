import { SourceError } from './source.ts'

/*
 * Server-sent events over `fetch`: with the cookie and without the token in an address.
 * 1. A stream that broke off is opened again; whoever opens it knows which events it has.
 * 2. The waits between attempts double up to 15 s; a sign that the network is back ends the wait.
 * 3. A stream that is silent for 40 s is dead: the server sends a comment every 15 s.
 */

export interface StreamEvent {
  event: string
  data: string
  id: string | null
}

const SILENCE_MS = 40_000
const MAX_WAIT_MS = 15_000

/** Parses the text of a stream piece by piece; a piece may end anywhere. */
export function createEventParser(onEvent: (event: StreamEvent) => void): (text: string) => void {
  let rest = ''
  let event = ''
  let data: string[] = []
  let id: string | null = null
  const endEvent = () => {
    if (data.length > 0) onEvent({ event: event || 'message', data: data.join('\n'), id })
    event = ''
    data = []
    id = null
  }
  const readLine = (line: string) => {
    if (line === '') return endEvent()
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'event') event = value
    else if (field === 'data') data.push(value)
    else if (field === 'id') id = value
  }
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) readLine(line)
  }
}

export interface StreamOptions {
  open(signal: AbortSignal): Promise<Response>
  onEvent(event: StreamEvent): void
  /** After every successful opening. */
  onOpen?(reconnected: boolean): void
  /** The stream broke off; `retryAt` is the time of the next attempt. */
  onBreak?(lastSign: number | null, retryAt: number): void
  /** The server refuses for good: signed out, not found. */
  onRefused?(error: SourceError): void
}

/** Keeps a stream open until it is stopped or refused. */
export function watchStream(options: StreamOptions): () => void {
  const stopped = new AbortController()
  void keepOpen(options, stopped.signal)
  return () => stopped.abort()
}

async function keepOpen(options: StreamOptions, stop: AbortSignal): Promise<void> {
  let lastSign: number | null = null
  let failures = 0
  let opened = false
  while (!stop.aborted) {
    try {
      const response = await options.open(stop)
      if (stop.aborted) return
      options.onOpen?.(opened)
      opened = true
      lastSign = Date.now()
      await readStream(response, stop, (event) => {
        lastSign = Date.now()
        failures = 0
        if (event !== null) options.onEvent(event)
      })
    } catch (error) {
      if (stop.aborted) return
      if (error instanceof SourceError && isFinal(error)) return options.onRefused?.(error)
    }
    if (stop.aborted) return
    const wait = Math.min(MAX_WAIT_MS, 400 * 2 ** failures) * (0.75 + Math.random() / 2)
    failures += 1
    options.onBreak?.(lastSign, Date.now() + wait)
    await waitForNetwork(wait, stop)
  }
}

function isFinal({ status }: SourceError): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429
}

/** `onSign` gets the events, and `null` for any other sign of life. */
async function readStream(
  response: Response,
  stop: AbortSignal,
  onSign: (event: StreamEvent | null) => void,
): Promise<void> {
  const reader = response.body?.getReader()
  if (reader === undefined) return
  const parse = createEventParser(onSign)
  const decoder = new TextDecoder()
  const close = () => void reader.cancel().catch(() => undefined)
  stop.addEventListener('abort', close, { once: true })
  let silence = setTimeout(close, SILENCE_MS)
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(silence)
      silence = setTimeout(close, SILENCE_MS)
      onSign(null)
      parse(decoder.decode(part.value, { stream: true }))
    }
  } finally {
    clearTimeout(silence)
    stop.removeEventListener('abort', close)
  }
}

/** Waits, but not longer than until the network is back or the page is looked at again. */
function waitForNetwork(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      window.removeEventListener('online', end)
      document.removeEventListener('visibilitychange', endIfVisible)
      stop.removeEventListener('abort', end)
      resolve()
    }
    const endIfVisible = () => {
      if (document.visibilityState === 'visible') end()
    }
    const timer = setTimeout(end, ms)
    window.addEventListener('online', end)
    document.addEventListener('visibilitychange', endIfVisible)
    stop.addEventListener('abort', end)
  })
}
