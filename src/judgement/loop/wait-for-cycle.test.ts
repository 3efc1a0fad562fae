import { expect, test } from 'vitest'
import { findWaitForCycle } from './wait-for-cycle.ts'

const edges = (text: string) =>
  text.split(' ').map((edge, index) => ({ from: edge[0] ?? '', to: edge[1] ?? '', id: `c${index}` }))

test('LP24 an edge that leads back is a cycle, directly or through others', () => {
  expect(findWaitForCycle(edges('ab'), { from: 'b', to: 'a' })).toEqual([{ from: 'a', to: 'b', id: 'c0' }])
  expect(findWaitForCycle(edges('ab bc cd'), { from: 'd', to: 'a' })?.map(({ id }) => id)).toEqual(['c0', 'c1', 'c2'])
  expect(findWaitForCycle(edges('ab bc'), { from: 'a', to: 'c' })).toBeUndefined()
  expect(findWaitForCycle([], { from: 'a', to: 'a' })).toEqual([])
})

test('LP24 the shortest cycle is reported, and cycles among others do not matter', () => {
  expect(findWaitForCycle(edges('ab bc cd ad'), { from: 'd', to: 'a' })?.map(({ id }) => id)).toEqual(['c3'])
  expect(findWaitForCycle(edges('bc cb'), { from: 'a', to: 'b' })).toBeUndefined()
})
