import { shortHash } from '../hash.ts'
import type { Message } from '../model.ts'

/*
 * What was said before a session begins, when several sessions share it. Their requests begin with the same bytes, and the
 * journal holds what was said once: a pattern makes the thread anew from what it is told again on resume.
 * 1. A message is hashed and counted once, when it is added: a session that begins with a long thread costs no more than
 *    one that begins with a short one.
 * 2. A session sees the thread as it was when the session began.
 */
export class Thread {
  readonly messages: Message[] = []
  #bytes = 0
  #hash = ''
  #tokenCount = { tokens: 0, bytes: 0 }

  add(message: Message): void {
    const json = JSON.stringify(message)
    this.messages.push(message)
    this.#bytes += Buffer.byteLength(json) + 8
    this.#hash = shortHash(this.#hash + json)
  }

  /** What a provider counted for a request that held this whole thread: a better bound than its bytes. */
  setTokenCount(tokens: number): void {
    if (tokens > 0) this.#tokenCount = { tokens, bytes: this.#bytes }
  }

  /** Starts over with these messages in the place of all that was said. */
  replace(messages: readonly Message[]): void {
    this.messages.length = 0
    this.#bytes = 0
    this.#hash = ''
    this.#tokenCount = { tokens: 0, bytes: 0 }
    for (const message of messages) this.add(message)
  }

  get bytes(): number {
    return this.#bytes
  }

  get hash(): string {
    return this.#hash
  }

  get tokenCount(): { tokens: number; bytes: number } {
    return this.#tokenCount
  }
}
