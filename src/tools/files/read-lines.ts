import type { Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

export interface LineRange {
  /** The first line, from 1. */
  offset: number
  limit: number
  /** Longer lines are cut. */
  maxLineChars: number
  /** All lines together; the rest is for the next call. */
  maxChars: number
}

export interface ReadLinesResult {
  lines: string[]
  /** Numbers of lines that were cut. */
  truncatedLines: number[]
  /** How many lines there are as far as was read; all of them if `complete`. */
  total: number
  complete: boolean
  /** Bytes that are no text were met. */
  hasInvalidBytes: boolean
}

const CHUNK_BYTES = 256 * 1024

/** Reads a range of lines without ever holding more than a chunk and the range, however long a line is. */
export async function readLines(
  handle: FileHandle,
  encoding: string,
  range: LineRange,
  hash: Hash | undefined,
): Promise<ReadLinesResult> {
  const found: ReadLinesResult = { lines: [], truncatedLines: [], total: 0, complete: true, hasInvalidBytes: false }
  const decoder = new TextDecoder(encoding)
  const buffer = Buffer.alloc(CHUNK_BYTES)
  let line = ''
  let length = 0
  let room = range.maxChars
  const last = range.offset + range.limit - 1

  const endLine = () => {
    found.total++
    if (found.total >= range.offset && found.total <= last && room > 0) {
      const shown = line.endsWith('\r') && length === line.length ? line.slice(0, -1) : line
      found.lines.push(shown)
      if (length > line.length) found.truncatedLines.push(found.total)
      room -= shown.length + 8
    }
    line = ''
    length = 0
  }
  const take = (text: string) => {
    if (!found.hasInvalidBytes && text.includes('\ufffd')) found.hasInvalidBytes = true
    let from = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      add(text, from, end)
      endLine()
      from = end + 1
    }
    add(text, from, text.length)
  }
  const add = (text: string, from: number, to: number) => {
    if (line.length < range.maxLineChars)
      line += text.slice(from, Math.min(to, from + range.maxLineChars - line.length))
    length += to - from
  }

  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null)
    if (bytesRead === 0) break
    hash?.update(buffer.subarray(0, bytesRead))
    take(decoder.decode(buffer.subarray(0, bytesRead), { stream: true }))
    // Without a hash to finish there is no reason to read on to the end of a huge file.
    if (!hash && (found.total >= last || room <= 0)) {
      found.complete = false
      return found
    }
  }
  take(decoder.decode())
  if (length > 0) endLine()
  return found
}
