import { expect, test } from 'vitest'
import type { TimelineCall, TimelineGate, TimelineTurn } from '../../src/views/timeline/timeline.ts'
import { answeredWaits } from './answered-waits.ts'

const turn = { id: 't', started_at: 0, responded_at: 10, ended_at: 100 } as TimelineTurn
const call = (id: string, started_at: number, ended_at: number | null) => ({ id, started_at, ended_at }) as TimelineCall
const gate = (id: string, started_at: number, ended_at: number | null) =>
  [id, { call: id, started_at, ended_at } as TimelineGate] as const

test('WL27 the wait for an answer does not count as busy time, unless another call ran meanwhile', () => {
  const asked = call('a', 10, 100)
  const answered = new Map([gate('a', 20, 80)])
  expect(answeredWaits(turn, [asked], answered)).toEqual([[20, 80]])
  // While a question is open, the work of the turn ends with it anyway.
  expect(answeredWaits(turn, [asked], new Map([gate('a', 20, null)]))).toEqual([])
  expect(answeredWaits(turn, [asked, call('b', 10, 50)], answered)).toEqual([[50, 80]])
  expect(answeredWaits(turn, [asked, call('b', 30, 60)], answered)).toEqual([
    [20, 30],
    [60, 80],
  ])
  const both = new Map([gate('a', 20, 80), gate('b', 40, 90)])
  expect(answeredWaits(turn, [call('a', 10, 80), call('b', 10, 100)], both)).toEqual([[40, 90]])
})
