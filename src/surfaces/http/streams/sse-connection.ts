import { GzipFrames } from '../compression/gzip-frames.ts'

/*
 * One connection of server-sent events.
 * 1. Memory is bounded: at most `buffer_bytes` and one frame wait here for the client; a producer that writes more waits.
 * 2. Frames arrive whole and in order, or the connection ends. Nothing is dropped in between.
 * 3. A client that takes nothing for `stall_ms` while something waits for it is disconnected; it reconnects with `Last-Event-ID`.
 */

export interface SseOptions {
  /** A comment is sent after this time without a frame, so that proxies and clients see a living connection. */
  heartbeat_ms: number
  /** A client that takes nothing for this time while something waits for it is disconnected. */
  stall_ms: number
  /** Bytes that may wait for the client. */
  buffer_bytes: number
}

/** How the bytes of a stream get to its client. */
export interface SseTransport {
  /** Compresses the frames. */
  gzip?: boolean
  /** Ends the connection at once; without it the body has an error, whose text an adapter may send to the client. */
  disconnect?: () => void
}

export const DEFAULT_SSE_OPTIONS: SseOptions = { heartbeat_ms: 15_000, stall_ms: 20_000, buffer_bytes: 64 * 1024 }

/** Writes frames for one client until `signal` is aborted. When it resolves the stream ends; when it rejects the connection breaks. */
export type SseProducer = (client: SseClient) => Promise<void>

export interface SseClient {
  /** Aborted when the client has left or was disconnected. */
  readonly signal: AbortSignal
  /** Sends a frame. If it returns a promise, the producer has to wait for it before the next frame. */
  write(frame: Uint8Array): Promise<void> | undefined
}

export interface SseFrame {
  id?: number
  event?: string
  data: unknown
}

const MAX_CHUNK_BYTES = 64 * 1024

const encoder = new TextEncoder()
const HEARTBEAT = encoder.encode(':\n\n')

/** JSON has no line breaks, so that a frame has one `data:` line. */
export function encodeFrame({ id, event, data }: SseFrame): Uint8Array {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`
  return encoder.encode(`${head}data: ${JSON.stringify(data)}\n\n`)
}

export const SSE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Proxies such as nginx would hold frames back.
  'x-accel-buffering': 'no',
}

/** The body of a response that `produce` writes. */
export function sseBody(
  produce: SseProducer,
  options: SseOptions = DEFAULT_SSE_OPTIONS,
  transport: SseTransport = {},
): ReadableStream<Uint8Array> {
  const connection = new SseConnection(options, transport)
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => connection.start(controller, produce),
      pull: () => connection.take(),
      cancel: () => connection.leave(),
    },
    // Nothing is read ahead: a `pull` is a client that takes something.
    { highWaterMark: 0 },
  )
}

class SseConnection implements SseClient {
  readonly #options: SseOptions
  readonly #disconnect: (() => void) | undefined
  readonly #gzip: GzipFrames | undefined
  /** Set while a long frame is compressed: later frames wait for it. */
  #encoding: Promise<void> | undefined
  readonly #left = new AbortController()
  readonly signal = this.#left.signal
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  /** Set while the client wants more than there is. */
  #isWanted = false
  #isFlushScheduled = false
  #hasEnded = false
  #room: PromiseWithResolvers<void> | undefined
  #takenAt = performance.now()
  #wroteAt = performance.now()
  #timer: NodeJS.Timeout | undefined

  constructor(options: SseOptions, { gzip = false, disconnect }: SseTransport) {
    this.#options = options
    this.#disconnect = disconnect
    this.#gzip = gzip ? new GzipFrames() : undefined
    if (this.#gzip) this.#waiting.push(this.#gzip.header)
    this.#waitingBytes = this.#gzip?.header.byteLength ?? 0
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>, produce: SseProducer): void {
    this.#controller = controller
    const { heartbeat_ms, stall_ms } = this.#options
    this.#timer = setInterval(() => this.#check(), Math.max(10, Math.min(heartbeat_ms, stall_ms) / 2))
    this.#timer.unref()
    produce(this)
      .then(() => this.#encoding)
      .then(
        () => this.#end(),
        () => this.#break(),
      )
  }

  write(frame: Uint8Array): Promise<void> | undefined {
    if (this.signal.aborted) return undefined
    const encoded = this.#gzip?.encode(frame) ?? frame
    if (!(encoded instanceof Promise) && !this.#encoding) return this.#enqueue(frame, encoded)
    const encoding: Promise<void> = this.#enqueueLater(frame, encoded).then(() => {
      if (this.#encoding === encoding) this.#encoding = undefined
    })
    this.#encoding = encoding
    return encoding.then(() => this.#room?.promise)
  }

  async #enqueueLater(frame: Uint8Array, encoded: Uint8Array | Promise<Uint8Array>): Promise<void> {
    await this.#encoding
    try {
      void this.#enqueue(frame, await encoded)
    } catch {
      this.#break()
    }
  }

  #enqueue(frame: Uint8Array, encoded: Uint8Array): Promise<void> | undefined {
    if (this.signal.aborted) return undefined
    this.#gzip?.count(frame)
    return this.#push(encoded)
  }

  #push(frame: Uint8Array): Promise<void> | undefined {
    if (this.#waiting.length === 0) this.#takenAt = performance.now()
    this.#waiting.push(frame)
    this.#waitingBytes += frame.byteLength
    this.#wroteAt = performance.now()
    this.#scheduleFlush()
    if (this.#waitingBytes < this.#options.buffer_bytes) return undefined
    this.#room ??= Promise.withResolvers<void>()
    return this.#room.promise
  }

  /** The client wants more. */
  take(): void {
    this.#isWanted = true
    if (this.#waiting.length > 0 || this.#hasEnded) this.#flush()
  }

  /** The client has left. */
  leave(): void {
    if (this.#timer) clearInterval(this.#timer)
    this.#waiting = []
    this.#waitingBytes = 0
    this.#left.abort()
    this.#room?.resolve()
  }

  /** Frames that are written in the same round of the event loop are sent together. */
  #scheduleFlush(): void {
    if (!this.#isWanted || this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    setImmediate(() => {
      this.#isFlushScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    if (!this.#isWanted || this.signal.aborted) return
    const [first] = this.#waiting
    if (first === undefined) {
      if (this.#hasEnded) this.#close()
      return
    }
    this.#isWanted = false
    this.#takenAt = performance.now()
    const chunk = this.#nextChunk(first)
    this.#waitingBytes -= chunk.byteLength
    this.#controller?.enqueue(chunk)
    if (this.#waitingBytes >= this.#options.buffer_bytes) return
    this.#room?.resolve()
    this.#room = undefined
  }

  /** As many frames as fit into a chunk. A larger frame is sent in parts, so that a slow client is seen to make progress. */
  #nextChunk(first: Uint8Array): Uint8Array {
    if (first.byteLength > MAX_CHUNK_BYTES) {
      this.#waiting[0] = first.subarray(MAX_CHUNK_BYTES)
      return first.subarray(0, MAX_CHUNK_BYTES)
    }
    let [count, bytes] = [0, 0]
    for (const { byteLength } of this.#waiting) {
      if (bytes + byteLength > MAX_CHUNK_BYTES) break
      bytes += byteLength
      count += 1
    }
    const frames = this.#waiting.splice(0, count)
    return frames.length === 1 ? first : Buffer.concat(frames, bytes)
  }

  #end(): void {
    if (this.signal.aborted) return
    if (this.#gzip) void this.#push(this.#gzip.end())
    this.#hasEnded = true
    // A client that has left asks for nothing more.
    if (this.#waiting.length === 0) this.#close()
    else this.#flush()
  }

  #close(): void {
    this.leave()
    this.#controller?.close()
  }

  #break(problem = 'the stream broke off'): void {
    if (this.signal.aborted) return
    this.leave()
    if (this.#disconnect) {
      this.#disconnect()
      this.#controller?.close()
    } else {
      // Its text may be shown to the client: the reason is for the operator.
      this.#controller?.error(new Error(problem))
    }
  }

  #check(): void {
    const now = performance.now()
    if (this.#waiting.length > 0 && now - this.#takenAt >= this.#options.stall_ms) {
      this.#break('the client does not read')
    } else if (!this.#hasEnded && now - this.#wroteAt >= this.#options.heartbeat_ms) {
      // A client that waits for room gets the frame of its producer.
      void this.write(HEARTBEAT)
    }
  }
}
