/*
 * Local servers without a parser for reasoning send it as text: `<think>…</think>` before the answer. Left there, it would be shown as the
 * answer, quoted to other agents, and searched for JSON.
 */

const OPEN = '<think>'
const CLOSE = '</think>'

/** A part of a response: of its reasoning, or of its answer. */
export interface ResponseSpan {
  type: 'text' | 'reasoning'
  text: string
}

/** Tells the reasoning at the beginning of a response from its answer. Tags may be split over deltas; those within an answer are its own. */
export class ThinkTagReader {
  #state: 'start' | 'reasoning' | 'gap' | 'answer' = 'start'
  /** Text that may be the beginning of a tag. */
  #held = ''

  /** The spans that a delta completes. */
  read(delta: string): ResponseSpan[] {
    if (this.#state === 'answer') return [{ type: 'text', text: delta }]
    const text = this.#held + delta
    this.#held = ''
    if (this.#state === 'start') return this.#readStart(text)
    return this.#state === 'reasoning' ? this.#readReasoning(text) : this.#readGap(text)
  }

  /** The text that turned out to be no tag, at the end of the response. */
  end(): ResponseSpan[] {
    const text = this.#held
    this.#held = ''
    return text === '' ? [] : [{ type: this.#state === 'reasoning' ? 'reasoning' : 'text', text }]
  }

  #readStart(text: string): ResponseSpan[] {
    const content = text.trimStart()
    if (content.startsWith(OPEN)) {
      this.#state = 'reasoning'
      return this.#readReasoning(content.slice(OPEN.length))
    }
    if (OPEN.startsWith(content)) {
      this.#held = text
      return []
    }
    this.#state = 'answer'
    return [{ type: 'text', text }]
  }

  #readReasoning(text: string): ResponseSpan[] {
    const end = text.indexOf(CLOSE)
    if (end >= 0) {
      this.#state = 'gap'
      return [...reasoningSpan(text.slice(0, end)), ...this.#readGap(text.slice(end + CLOSE.length))]
    }
    const held = partialTagLength(text)
    this.#held = text.slice(text.length - held)
    return reasoningSpan(text.slice(0, text.length - held))
  }

  #readGap(text: string): ResponseSpan[] {
    const answer = text.trimStart()
    if (answer === '') return []
    this.#state = 'answer'
    return [{ type: 'text', text: answer }]
  }
}

function reasoningSpan(text: string): ResponseSpan[] {
  return text === '' ? [] : [{ type: 'reasoning', text }]
}

/** The length of the longest end of the text that begins the closing tag. */
function partialTagLength(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length--) {
    if (CLOSE.startsWith(text.slice(-length))) return length
  }
  return 0
}
