import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { StreamEvent } from './event-stream.ts'
import { createEventParser } from './event-stream.ts'

const parse = (pieces: readonly string[]) => {
  const events: StreamEvent[] = []
  const read = createEventParser((event) => events.push(event))
  for (const piece of pieces) read(piece)
  return events
}

test('events have a type, data of several lines and an id; comments and unknown fields are left out', () => {
  expect(parse([': hello\n\nevent: changes\nid: 7\ndata: {"a":1,\ndata: "b":2}\nretry: 1\n\ndata:x\n\n'])).toEqual([
    { event: 'changes', id: '7', data: '{"a":1,\n"b":2}' },
    { event: 'message', id: null, data: 'x' },
  ])
})

test('a stream may be cut into pieces anywhere, also between CR and LF', () => {
  const text = ':c\r\n\r\nevent: snapshot\r\nid: 12\r\ndata: {"text":"ü€"}\r\n\r\nevent: gone\ndata: {}\n\n'
  fc.assert(
    fc.property(fc.array(fc.nat({ max: text.length })), (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), text.length]
      const pieces = at.slice(1).map((end, index) => text.slice(at[index], end))
      expect(parse(pieces)).toEqual(parse([text]))
    }),
  )
  expect(parse([text])).toHaveLength(2)
})

test('an event that was not ended is not told', () => {
  expect(parse(['id: 3\ndata: half'])).toEqual([])
})
