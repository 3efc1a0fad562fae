import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { OUTPUT_FOLDER, TROUPE_FOLDER } from '../files/check-protected.ts'
import { appendState } from '../files/tool-state.ts'
import type { Workspace } from '../files/workspace.ts'

/*
 * The output of a command, within bounds.
 * 1. The model gets the beginning and the end; what is between is in a file that Read can open.
 * 2. The file has a largest size. What comes after is counted and thrown away; the command goes on.
 */

const HEAD_CHARS = 10_000
const TAIL_CHARS = 20_000
export const MAX_OUTPUT_FILE_BYTES = 8 * 1024 * 1024

export class CapturedOutput {
  private head = ''
  private tail = ''
  private chars = 0
  private kept: Buffer[] = []
  private keptBytes = 0
  private bytes = 0

  /** Takes both streams as they come, as a terminal would show them. */
  capture(...streams: readonly (Readable | null)[]): void {
    for (const stream of streams) {
      const decoder = new StringDecoder('utf8')
      stream?.on('data', (chunk: Buffer) => this.append(chunk, decoder.write(chunk)))
    }
  }

  private append(chunk: Buffer, text: string): void {
    this.bytes += chunk.length
    if (this.keptBytes < MAX_OUTPUT_FILE_BYTES) {
      const part = chunk.subarray(0, MAX_OUTPUT_FILE_BYTES - this.keptBytes)
      this.kept.push(part)
      this.keptBytes += part.length
    }
    this.chars += text.length
    const room = HEAD_CHARS + TAIL_CHARS - this.head.length
    if (room > 0) this.head += text.slice(0, room)
    this.tail = (this.tail + text).slice(-TAIL_CHARS)
  }

  /** What the model is shown, after the rest was put where it can be read. */
  async render(workspace: Workspace, name: string): Promise<string> {
    if (this.chars <= HEAD_CHARS + TAIL_CHARS) return this.head
    const file = [OUTPUT_FOLDER, `${name}.txt`]
    await appendState(workspace, file, Buffer.concat(this.kept).toString('utf8'))
    const lost = this.bytes - this.keptBytes
    const note = [
      `${this.chars - HEAD_CHARS - TAIL_CHARS} characters are left out here`,
      `read them with Read: ${[TROUPE_FOLDER, ...file].join('/')}`,
      ...(lost > 0 ? [`the last ${lost} bytes were too many even for that file`] : []),
    ]
    return `${this.head.slice(0, HEAD_CHARS)}\n[${note.join('; ')}]\n${this.tail}`
  }
}
