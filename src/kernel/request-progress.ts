/** How far a model request got. Times are milliseconds since the epoch. */
export interface RequestProgress {
  /** Before the first byte of the request was written. Absent: nothing was sent. */
  sent_at?: number
  /** The first and the last time that a part of the response arrived. */
  received_at?: number
  last_received_at?: number
  /** Characters of text, reasoning and tool inputs that arrived. */
  received_chars: number
  /** The head of the response, if a model reports it. */
  head?: ResponseHead
}

export interface ResponseHead {
  status: number
  /** The provider's own id of the request, which its support asks for. */
  request_id?: string
}

/** Recorded with the outcome of a request that was sent by HTTP. */
export interface ResponseFacts extends ResponseHead {
  first_byte_ms?: number
}

/** A model calls it while it sends a request and receives the response. */
export interface TransportObserver {
  /** The model will call `onSend`. Without this, in the first turn of the event loop, a request counts as sent at once. */
  willReportSend(): void
  /** Before the first byte of the request is written; further calls change nothing. */
  onSend(): void
  /** Bytes arrived. `chars` counts content that is not in a chunk yet, such as a part of a tool's input. */
  onReceive(chars: number): void
  onHead?(head: ResponseHead): void
}

/** The progress of one request, kept where it survives the process. */
export interface RequestMark {
  /** Written before this returns: a kill right after it loses nothing. */
  write(progress: RequestProgress): void
  /** The request has an outcome; `isCommitted` tells when that is stored, and the mark is not needed any more. */
  close(isCommitted: () => boolean): void
}

/**
 * The marks of this process. They survive its end, but not a power failure: a commit per request would. `seq` is that of
 * `model:begin`.
 */
export interface RequestMarks {
  open(run_id: string, seq: number): RequestMark
}
