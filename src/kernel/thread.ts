import { messageTokenBound } from './attachment.ts'
import { shortHash } from './hash.ts'
import type { Message } from './model.ts'

/**
 * A conversation that several sessions share as their prefix, so that providers can cache it. The journal does not store
 * it: the pattern rebuilds it on resume.
 * 1. A message is hashed and measured once, when it is added, so opening a session does not scan the thread.
 * 2. A session sees the thread as it was when the session opened.
 */
export class Thread {
  readonly messages: Message[] = []
  #bytes = 0
  #hash = ''
  #tokenCount = { tokens: 0, bytes: 0 }

  add(message: Message): void {
    const json = JSON.stringify(message)
    this.messages.push(message)
    this.#bytes += messageTokenBound(message, json)
    this.#hash = shortHash(this.#hash + json)
  }

  /** Sets a provider's token count for the whole thread, a tighter bound than its bytes. */
  setTokenCount(tokens: number): void {
    if (tokens > 0) this.#tokenCount = { tokens, bytes: this.#bytes }
  }

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
