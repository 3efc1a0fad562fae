import { expect, test } from 'vitest'
import type { Place } from './router.ts'
import { formatPlace, parsePlace, runPlace } from './router.ts'

const places: Place[] = [
  { page: 'runs', query: '' },
  { page: 'runs', query: 'state:failed tag:"a b" & ünïcode #' },
  runPlace('run_1'),
  runPlace('run_1', { tab: 'cost' }),
  runPlace('../x?#', { tab: 'a/b', at: { kind: 'call', id: 'root/2:tool#1&x=%2e' }, range: [1, 2], seq: 0 }),
  { page: 'inbox', gateId: null },
  { page: 'inbox', gateId: 'gate/1' },
  { page: 'metrics' },
]

test.each(places)('WB3 %j survives its address', (place) => {
  expect(parsePlace(formatPlace(place))).toEqual(place)
})

test('WB3 parts that make no sense are ignored', () => {
  expect(parsePlace('/runs/r?at=nothing&t=9..3&seq=x')).toEqual(runPlace('r'))
  expect(parsePlace('/runs/r?at=call:&t=1..')).toEqual(runPlace('r'))
  expect(parsePlace('/')).toEqual({ page: 'runs', query: '' })
  expect(parsePlace('/runs/%E0%A4%A')).toEqual(runPlace('%E0%A4%A'))
  expect(parsePlace('/no/such')).toEqual({ page: 'unknown', path: '/no/such' })
})

test('WB3 addresses stay readable', () => {
  expect(formatPlace(runPlace('r1', { at: { kind: 'turn', id: 'root/turn:3' }, seq: 12 }))).toBe(
    '/runs/r1?at=turn:root/turn:3&seq=12',
  )
})
