import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseTrace } from '../../formats/trace-file.ts'
import { findLoops } from './find-loops.ts'
import type { TraceMessage } from './trace.ts'

const folder = new URL('../../../test/fixtures/healthy-traces/', import.meta.url)

describe('healthy traces', () => {
  const files = readdirSync(folder)

  test('LP29 there are traces of many kinds of work', () => {
    expect(files.length).toBeGreaterThanOrEqual(15)
  })

  test.each(files)('LP29 nothing is found in %s', (file) => {
    const { messages } = parseTrace(readFileSync(new URL(file, folder), 'utf8'), file)
    expect(messages.length).toBeGreaterThan(5)
    expect(findLoops(messages)).toEqual([])
  })
})

describe('signs that are no loop', () => {
  const say = (agent: string, text: string, to?: string): TraceMessage => ({
    agent,
    kind: 'message',
    text,
    ...(to !== undefined && { to }),
  })
  const ask = (text: string, answer: string) => [say('lead', text, 'worker'), say('worker', answer)]
  const kinds = (messages: readonly TraceMessage[]) => new Set(findLoops(messages).map(({ kind }) => kind))

  test('LP26 one template for many subjects is no loop, the same subject again is', () => {
    const files = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    const check = (file: string) => ask(`Check the header of src/${file}.ts.`, `The header of src/${file}.ts is fine.`)
    expect(kinds(files.flatMap(check))).toEqual(new Set())
    expect(kinds(files.flatMap(() => check('a')))).toContain('repeated_work')
  })

  test('LP27 readings with new numbers are progress, the same reading is not', () => {
    const read = (value: string) => ask('What is the depth of the queue now?', `The queue has ${value} entries.`)
    expect(kinds(['9', '7', '6', '4', '3', '1'].flatMap(read))).not.toContain('repeated_work')
    expect(kinds(['9', '9', '9', '9', '9', '9'].flatMap(read))).toContain('repeated_work')
  })

  test('LP28 an instruction may be repeated while the outside world fails', () => {
    const fetch = (answer: string) => ask('Fetch the list of all products from the supplier.', answer)
    const outage = Array.from({ length: 6 }, () => fetch('Error 503: the service is unavailable.')).flat()
    expect(kinds([...outage, ...fetch('There are 90 products.')])).toEqual(new Set())
    const mistake = Array.from({ length: 6 }, () => fetch('Error: the list has no column named price.')).flat()
    expect(kinds(mistake)).toContain('repeated_work')
  })

  test('LP28 instructions in a row to different agents are given at the same time', () => {
    const names = ['ana', 'ben', 'cho', 'dan', 'eve']
    const parallel = names.map((name) => say('lead', 'Write one paragraph about your field of work.', name))
    expect(kinds([...parallel, ...names.map((name, index) => say(name, `Paragraph ${index} of ${name}.`))])).toEqual(
      new Set(),
    )
  })
})

describe('hostile traces', () => {
  const message = (agent: string, text: string): TraceMessage => ({ agent, kind: 'message', text })

  test.each([
    ['no messages', []],
    ['empty texts', Array.from({ length: 1000 }, () => message('a', ''))],
    [
      'one speaker',
      Array.from({ length: 2000 }, (_, index) => message('a', `step ${index} of the only one who speaks`)),
    ],
    ['huge texts', Array.from({ length: 4 }, (_, index) => message(`a${index}`, 'ab '.repeat(1_000_000)))],
    ['one huge word', Array.from({ length: 4 }, (_, index) => message(`a${index}`, 'a'.repeat(3_000_000)))],
    ['quotes without end', [message('a', '"'.repeat(500_000)), message('b', '“a'.repeat(500_000))]],
  ])('LP30 %s are read', (_, messages) => {
    expect(findLoops(messages)).toEqual([])
  })

  test('LP30 fifty thousand messages, half of them identical', () => {
    const messages = Array.from({ length: 50_000 }, (_, index) =>
      index % 2 === 0 ? message('a', 'the same step is done again and again') : message('b', `report ${index}`),
    )
    expect(findLoops(messages).length).toBeGreaterThan(20_000)
  })
})
