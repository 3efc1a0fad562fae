import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ResponseParts } from './response-parts.ts'
import type { RunAgent, RunMessage } from './run-message.ts'

const agent: RunAgent = { id: 's1', name: 'lead', description: '', isMain: true, parent: undefined, call: undefined }

type Piece = { type: 'text' | 'reasoning'; text: string }

const piece: fc.Arbitrary<Piece> = fc.record({
  type: fc.constantFrom('text' as const, 'reasoning' as const),
  text: fc.string({ minLength: 1, maxLength: 8 }),
})

/** The text of each part, as a client puts it together; throws unless parts begin, grow and end in this order. */
function partsOf(messages: readonly RunMessage[]): string[] {
  const parts = new Map<string, { type: string; text: string; isOpen: boolean }>()
  for (const message of messages) {
    if (message.kind === 'part_start') {
      if (parts.has(message.id)) throw new Error(`${message.id} began twice`)
      parts.set(message.id, { type: message.type, text: '', isOpen: true })
    } else if (message.kind === 'part_delta' || message.kind === 'part_end') {
      const part = parts.get(message.id)
      if (!part?.isOpen) throw new Error(`${message.id} is not open`)
      if (message.kind === 'part_delta') part.text += message.text
      else part.isOpen = false
    }
  }
  if ([...parts.values()].some(({ isOpen }) => isOpen)) throw new Error('a part has not ended')
  return [...parts.values()].map(({ type, text }) => `${type}: ${text}`)
}

function expectedParts(pieces: readonly Piece[]): string[] {
  const parts: Piece[] = []
  for (const { type, text } of pieces) {
    const last = parts.at(-1)
    if (last?.type === type) last.text += text
    else parts.push({ type, text })
  }
  return parts.map(({ type, text }) => `${type}: ${text}`)
}

test('HT25 whatever deltas are lost, the parts are those of the recorded response', () => {
  const response = fc.array(fc.record({ piece, isLost: fc.boolean() }), { maxLength: 12 })
  fc.assert(
    fc.property(response, (pieces) => {
      const parts = new ResponseParts()
      const messages: RunMessage[] = []
      let offset = 0
      for (const { piece: each, isLost } of pieces) {
        const delta = { run_id: 'r', session_id: 's1', agent: 'lead', key: 'k', attempt: 1, offset, ...each }
        if (!isLost) messages.push(...parts.addDelta(delta, agent))
        offset += each.text.length
      }
      const content = pieces.map(({ piece: each }) => each)
      messages.push(...parts.end({ key: 'k', attempt: 1, content, agent }))
      expect(partsOf(messages)).toEqual(expectedParts(content))
    }),
  )
})

test('HT25 a response that failed ends its part, and the next attempt has parts of its own', () => {
  const parts = new ResponseParts()
  const delta = { run_id: 'r', session_id: 's1', agent: 'lead', key: 'k', offset: 0, type: 'text' as const }
  const messages = [
    ...parts.addDelta({ ...delta, attempt: 1, text: 'Half' }, agent),
    ...parts.fail('k'),
    ...parts.addDelta({ ...delta, attempt: 2, text: 'Whole' }, agent),
    ...parts.end({ key: 'k', attempt: 2, content: [{ type: 'text', text: 'Whole.' }], agent }),
    ...parts.fail('k'),
  ]
  expect(partsOf(messages)).toEqual(['text: Half', 'text: Whole.'])
})
