import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ThinkTagReader } from './think-tags.ts'

function readAll(deltas: readonly string[]): { reasoning: string; text: string } {
  const reader = new ThinkTagReader()
  const spans = [...deltas.flatMap((delta) => reader.read(delta)), ...reader.end()]
  const join = (type: string) => spans.flatMap((span) => (span.type === type ? span.text : [])).join('')
  return { reasoning: join('reasoning'), text: join('text') }
}

test.each([
  ['<think>is {a} right?</think>\n\n{"a":"yes"}', 'is {a} right?', '{"a":"yes"}'],
  ['\n<think>\nhm\n</think>yes', '\nhm\n', 'yes'],
  ['<think></think>yes', '', 'yes'],
  ['<think>cut off by the output lim', 'cut off by the output lim', ''],
  ['<think>a < b </thin', 'a < b </thin', ''],
  ['Use <think>tags</think>.', '', 'Use <think>tags</think>.'],
  ['yes <think>', '', 'yes <think>'],
  ['<thinking', '', '<thinking'],
  ['  ', '', '  '],
  ['', '', ''],
])(
  'MO79 reasoning in tags is told apart from the answer, however the response is split: %j',
  (response, reasoning, text) => {
    fc.assert(
      fc.property(fc.array(fc.nat(response.length), { maxLength: 12 }), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), response.length]
        const deltas = places.slice(1).map((place, index) => response.slice(places[index], place))
        expect(readAll(deltas)).toEqual({ reasoning, text })
      }),
    )
  },
)
