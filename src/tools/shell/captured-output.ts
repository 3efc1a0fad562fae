import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { OUTPUT_FOLDER, TROUPE_FOLDER } from '../files/check-protected.ts'
import { appendState } from '../files/tool-state.ts'
import type { Workspace } from '../files/workspace.ts'

/*
 * The output of a command, bounded in memory and on disk (resource exhaustion).
 * 1. The model gets the head and the tail; the whole output is in a file that `Read` can open.
 * 2. The file has a maximum size. Further output is counted and discarded while the command continues.
 */

const HEAD_CHARS = 10_000
const TAIL_CHARS = 20_000
export const MAX_OUTPUT_FILE_BYTES = 8 * 1024 * 1024

export class CapturedOutput {
  private head = ''
  private tail = ''
  private chars = 0
  private storedChunks: Buffer[] = []
  private storedBytes = 0
  private totalBytes = 0

  /** Captures both streams in order of arrival, as a terminal shows them. */
  capture(...streams: readonly (Readable | null)[]): void {
    for (const stream of streams) {
      const decoder = new StringDecoder('utf8')
      stream?.on('data', (chunk: Buffer) => this.append(chunk, decoder.write(chunk)))
    }
  }

  private append(chunk: Buffer, text: string): void {
    this.totalBytes += chunk.length
    if (this.storedBytes < MAX_OUTPUT_FILE_BYTES) {
      const part = chunk.subarray(0, MAX_OUTPUT_FILE_BYTES - this.storedBytes)
      this.storedChunks.push(part)
      this.storedBytes += part.length
    }
    this.chars += text.length
    const remaining = HEAD_CHARS + TAIL_CHARS - this.head.length
    if (remaining > 0) this.head += text.slice(0, remaining)
    this.tail = (this.tail + text).slice(-TAIL_CHARS)
  }

  /** The text for the model; stores long output in `.troupe/output`. */
  async render(workspace: Workspace, name: string): Promise<string> {
    if (this.chars <= HEAD_CHARS + TAIL_CHARS) return this.head
    const file = [OUTPUT_FOLDER, `${name}.txt`]
    await appendState(workspace, file, Buffer.concat(this.storedChunks).toString('utf8'))
    const discarded = this.totalBytes - this.storedBytes
    const note = [
      `${this.chars - HEAD_CHARS - TAIL_CHARS} characters omitted`,
      `read the whole output with Read: ${[TROUPE_FOLDER, ...file].join('/')}`,
      ...(discarded > 0 ? [`the last ${discarded} bytes were discarded`] : []),
    ]
    return `${this.head.slice(0, HEAD_CHARS)}\n[${note.join('; ')}]\n${this.tail}`
  }
}
