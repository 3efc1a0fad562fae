import { expect, test } from 'vitest'
import { addTag, narrowsLive, parseFilter, toggleState, toRunQuery, wantsEnded, wantsLive } from './run-query.ts'

test('WB6 the parts of a filter', () => {
  expect(
    parseFilter('state:failed tag:portal pattern:demo why did "it fail" tag:"two words" state:needs'),
  ).toMatchObject({
    states: ['failed', 'waiting'],
    tags: ['portal', 'two words'],
    pattern: 'demo',
    text: 'why did it fail',
  })
})

test('WB6 unknown parts and unknown states are words', () => {
  expect(parseFilter('state:burning http://x owner:me')).toMatchObject({
    states: [],
    text: 'state:burning http://x owner:me',
  })
})

test('WB6 the server is asked for live runs as a whole and for ended ones by state', () => {
  const filter = parseFilter('state:failed tag:a words')
  expect(toRunQuery(filter, 'ended')).toEqual({ status: ['failed'], tags: ['a'], text: 'words' })
  expect([wantsLive(filter), wantsEnded(filter)]).toEqual([false, true])
  const stalled = parseFilter('state:stalled')
  expect([wantsLive(stalled), wantsEnded(stalled), narrowsLive(stalled)]).toEqual([true, false, false])
  expect(toRunQuery(parseFilter(''), 'ended').status).toEqual(['completed', 'failed', 'cancelled'])
})

test('WB6 states are toggled and tags added in the text', () => {
  expect(toggleState('tag:a', 'failed')).toBe('tag:a state:failed')
  expect(toggleState('tag:a state:failed words', 'failed')).toBe('tag:a words')
  expect(toggleState('state:needs', 'waiting')).toBe('')
  expect(addTag('x', 'two words')).toBe('x tag:"two words"')
  expect(addTag('tag:a', 'a')).toBe('tag:a')
})
