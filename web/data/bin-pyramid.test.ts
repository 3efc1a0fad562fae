import { expect, test } from 'vitest'
import type { TimelineCall, TimelineGate, TimelineLane, TimelineTurn } from '../../src/views/timeline/timeline.ts'
import { overviewColour } from '../lanes/paint-overview.ts'
import { binPyramidFrom } from './bin-pyramid.ts'
import { laneColumnsFrom } from './lane-columns.ts'

const lane = { id: 'a' } as TimelineLane
const turn = { id: 't', started_at: 0, responded_at: 64, ended_at: 1024, status: 'ok' } as TimelineTurn
const call = { id: 'c', turn: 't', started_at: 64, ended_at: 1024, status: 'ok' } as TimelineCall
const gate = { id: 'g', call: 'c', started_at: 128, ended_at: 896 } as TimelineGate

function busyShares(gates: readonly TimelineGate[]): number[] {
  const columns = laneColumnsFrom({
    ...{ lane, index: 0, sessions: [], turns: [turn], calls: [call], gates, delegating: new Set<string>() },
  })
  return [...(binPyramidFrom(columns, { width: 128, now: 2048 })[0]?.busy ?? [])]
}

test('WL27 the wait for an answer is not busy in the bins of the overview, and an answered question is not amber', () => {
  expect(busyShares([]).slice(0, 8)).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
  expect(busyShares([gate]).slice(0, 8)).toEqual([1, 0, 0, 0, 0, 0, 0, 1])
  expect([overviewColour('gate', true), overviewColour('gate', false)]).toEqual(['waiting', 'line-3'])
})
