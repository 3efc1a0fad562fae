import { homedir } from 'node:os'
import type { Attachment } from '../../../index.ts'
import { readAttachment } from '../../../index.ts'
import { attachmentLine } from '../../../views/attachment-list.ts'

/** The files that the next message of a chat carries. A message that could not be sent leaves them here. */
export class PendingAttachments {
  #files: Attachment[] = []

  /** Reads a file, and returns a line about all files. */
  async add(path: string): Promise<string> {
    this.#files.push(await readAttachment(expandPath(path)))
    return this.describe()
  }

  clear(): void {
    this.#files = []
  }

  get isEmpty(): boolean {
    return this.#files.length === 0
  }

  describe(): string {
    return attachmentLine(this.fields)
  }

  /** `attachments` of a message; no field without files. */
  get fields(): { attachments?: Attachment[] } {
    return this.isEmpty ? {} : { attachments: this.#files }
  }
}

/** A path as people type or drop it into a terminal: in quotes, with escaped spaces, below `~`. */
function expandPath(text: string): string {
  const [, , quoted] = /^(['"])(.*)\1$/.exec(text) ?? []
  const path = quoted ?? text.replace(/\\ /g, ' ')
  return path.startsWith('~/') ? homedir() + path.slice(1) : path
}
