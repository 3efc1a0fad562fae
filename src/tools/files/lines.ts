import type { Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

export interface LineRange {
  /** The first line, from 1. */
  offset: number
  limit: number
  /** Longer lines are cut. */
  lineChars: number
  /** All lines together; the rest is for the next call. */
  chars: number
}

export interface Lines {
  lines: string[]
  /** Numbers of lines that were cut. */
  cut: number[]
  /** How many lines there are as far as was read; all of them if `complete`. */
  total: number
  complete: boolean
  /** Bytes that are no text were met. */
  damaged: boolean
}

const CHUNK = 256 * 1024

/** Reads a range of lines without ever holding more than a chunk and the range, however long a line is. */
export async function readLines(
  handle: FileHandle,
  encoding: string,
  range: LineRange,
  hash: Hash | undefined,
): Promise<Lines> {
  const found: Lines = { lines: [], cut: [], total: 0, complete: true, damaged: false }
  const decoder = new TextDecoder(encoding)
  const buffer = Buffer.alloc(CHUNK)
  let line = ''
  let length = 0
  let room = range.chars
  const last = range.offset + range.limit - 1

  const endLine = () => {
    found.total++
    if (found.total >= range.offset && found.total <= last && room > 0) {
      const shown = line.endsWith('\r') && length === line.length ? line.slice(0, -1) : line
      found.lines.push(shown)
      if (length > line.length) found.cut.push(found.total)
      room -= shown.length + 8
    }
    line = ''
    length = 0
  }
  const take = (text: string) => {
    if (!found.damaged && text.includes('\ufffd')) found.damaged = true
    let from = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      add(text, from, end)
      endLine()
      from = end + 1
    }
    add(text, from, text.length)
  }
  const add = (text: string, from: number, to: number) => {
    if (line.length < range.lineChars) line += text.slice(from, Math.min(to, from + range.lineChars - line.length))
    length += to - from
  }

  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, CHUNK, null)
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
