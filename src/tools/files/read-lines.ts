import type { Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

export interface ReadLinesOptions {
  encoding: string
  /** The first line, from 1. */
  offset: number
  limit: number
  /** Longer lines are truncated. */
  maxLineChars: number
  /** Budget for all lines together. */
  maxChars: number
  /** Updated with every byte of the file; without it reading stops after the last requested line. */
  hash: Hash | undefined
}

export interface ReadLinesResult {
  lines: string[]
  /** Numbers of the truncated lines. */
  truncatedLines: number[]
  /** Number of lines read; the number of lines of the file if `complete`. */
  total: number
  complete: boolean
  hasInvalidBytes: boolean
}

const CHUNK_BYTES = 256 * 1024

/** Reads a range of lines in bounded memory: one chunk plus the range, however long a line is. */
export async function readLines(handle: FileHandle, options: ReadLinesOptions): Promise<ReadLinesResult> {
  const { hash } = options
  const decoder = new TextDecoder(options.encoding)
  const buffer = Buffer.alloc(CHUNK_BYTES)
  const collector = new LineCollector(options)
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null)
    if (bytesRead === 0) break
    hash?.update(buffer.subarray(0, bytesRead))
    collector.add(decoder.decode(buffer.subarray(0, bytesRead), { stream: true }))
    if (!hash && collector.isFull) {
      collector.result.complete = false
      return collector.result
    }
  }
  collector.add(decoder.decode())
  collector.endPartialLine()
  return collector.result
}

class LineCollector {
  readonly result: ReadLinesResult = {
    lines: [],
    truncatedLines: [],
    total: 0,
    complete: true,
    hasInvalidBytes: false,
  }
  private readonly options: ReadLinesOptions
  private readonly lastLine: number
  private remainingChars: number
  /** The current line, up to `maxLineChars`. */
  private line = ''
  /** The full length of the current line. */
  private length = 0

  constructor(options: ReadLinesOptions) {
    this.options = options
    this.lastLine = options.offset + options.limit - 1
    this.remainingChars = options.maxChars
  }

  get isFull(): boolean {
    return this.result.total >= this.lastLine || this.remainingChars <= 0
  }

  add(text: string): void {
    if (!this.result.hasInvalidBytes && text.includes('\ufffd')) this.result.hasInvalidBytes = true
    let start = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.extendLine(text, start, end)
      this.endLine()
      start = end + 1
    }
    this.extendLine(text, start, text.length)
  }

  /** Ends a last line without a line feed. */
  endPartialLine(): void {
    if (this.length > 0) this.endLine()
  }

  private extendLine(text: string, start: number, end: number): void {
    const { maxLineChars } = this.options
    if (this.line.length < maxLineChars)
      this.line += text.slice(start, Math.min(end, start + maxLineChars - this.line.length))
    this.length += end - start
  }

  private endLine(): void {
    const { result, line, length } = this
    result.total++
    if (result.total >= this.options.offset && result.total <= this.lastLine && this.remainingChars > 0) {
      const shown = line.endsWith('\r') && length === line.length ? line.slice(0, -1) : line
      result.lines.push(shown)
      if (length > line.length) result.truncatedLines.push(result.total)
      this.remainingChars -= shown.length + 8
    }
    this.line = ''
    this.length = 0
  }
}
