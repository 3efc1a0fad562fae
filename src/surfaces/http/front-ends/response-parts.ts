import type { StreamItem } from '../../../index.ts'
import type { PartType, RunAgent, RunMessage } from './run-message.ts'

type Delta = Extract<StreamItem, { delta: unknown }>['delta']

/*
 * The parts of responses that are being written.
 * 1. The deltas of a part, put together, are its text, also when deltas were lost: the rest comes with the recorded response.
 * 2. Every part that began ends.
 */

interface Part {
  type: PartType
  text: string
}

export interface RecordedResponse {
  key: string
  attempt: number
  content: readonly { type: string; text?: string }[]
  agent: RunAgent
}

interface OpenResponse {
  agent: RunAgent
  id: string
  /** The parts that were sent; the last one has not ended. */
  sent: Part[]
  length: number
  hasGap: boolean
}

export class ResponseParts {
  readonly #open = new Map<string, OpenResponse>()

  /** A piece of text while the model writes. A piece that does not follow the ones before is left for the end. */
  addDelta({ key, attempt, offset, type, text }: Delta, agent: RunAgent): RunMessage[] {
    const response = this.#responseOf(key, attempt, agent)
    if (offset !== response.length) response.hasGap = true
    if (response.hasGap) return []
    response.length += text.length
    const last = response.sent.at(-1)
    if (last?.type !== type) return [...endLast(response), ...beginPart(response, type, text)]
    last.text += text
    return [partDelta(response, text)]
  }

  /** The response as it was recorded. */
  end({ key, attempt, content, agent }: RecordedResponse): RunMessage[] {
    const response = this.#responseOf(key, attempt, agent)
    this.#open.delete(key)
    const messages: RunMessage[] = []
    for (const [index, { type, text }] of mergeParts(content).entries()) {
      const sent = response.sent[index]
      if (!sent) messages.push(...endLast(response), ...beginPart(response, type, text))
      else if (index === response.sent.length - 1 && text.startsWith(sent.text) && text.length > sent.text.length) {
        messages.push(partDelta(response, text.slice(sent.text.length)))
        sent.text = text
      }
    }
    return [...messages, ...endLast(response)]
  }

  /** A response that failed: its text stays as it is. */
  fail(key: string): RunMessage[] {
    const response = this.#open.get(key)
    this.#open.delete(key)
    return response ? endLast(response) : []
  }

  endAll(): RunMessage[] {
    return [...this.#open.keys()].flatMap((key) => this.fail(key))
  }

  #responseOf(key: string, attempt: number, agent: RunAgent): OpenResponse {
    const id = attempt === 1 ? key : `${key}@${attempt}`
    const known = this.#open.get(key)
    if (known?.id === id) return known
    const response: OpenResponse = { agent, id, sent: [], length: 0, hasGap: false }
    this.#open.set(key, response)
    return response
  }
}

function partId({ id, sent }: OpenResponse): string {
  return sent.length <= 1 ? id : `${id}+${sent.length - 1}`
}

function beginPart(response: OpenResponse, type: PartType, text: string): RunMessage[] {
  response.sent.push({ type, text })
  return [{ kind: 'part_start', id: partId(response), type, agent: response.agent }, partDelta(response, text)]
}

function partDelta(response: OpenResponse, text: string): RunMessage {
  const type = response.sent.at(-1)?.type ?? 'text'
  return { kind: 'part_delta', id: partId(response), type, agent: response.agent, text }
}

function endLast(response: OpenResponse): RunMessage[] {
  const last = response.sent.at(-1)
  if (!last) return []
  return [{ kind: 'part_end', id: partId(response), type: last.type, agent: response.agent }]
}

/** Text and reasoning of a response, as deltas have it: neighbours of the same type are one part. */
function mergeParts(content: readonly { type: string; text?: string }[]): Part[] {
  const parts: Part[] = []
  for (const { type, text = '' } of content) {
    if ((type !== 'text' && type !== 'reasoning') || text === '') continue
    const last = parts.at(-1)
    if (last?.type === type) last.text += text
    else parts.push({ type, text })
  }
  return parts
}
