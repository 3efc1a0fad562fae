import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import type { Timeline, TimelineChanges, TimelineRef } from '../../src/views/timeline/timeline.ts'
import { createTimelineStore } from '../data/timeline-store.ts'
import { SwimLanes } from './swim-lanes.tsx'

/* The swimlanes alone, for `npm run bench:viewer` and browser tests. The rows come from `timeline.json`. */

export interface LanesSample {
  seq: number
  timeline: Timeline
  /** Time of now; `null` is the clock. */
  now: number | null
}

/** Tests read and drive the page with it. */
export interface LanesPageHandle {
  selection: TimelineRef | null
  range: [number, number] | null
  replaySeq: number | null
  apply(changes: TimelineChanges, now: number): void
}

const store = createTimelineStore()
let now: number | null = null

const handle: LanesPageHandle = {
  selection: null,
  range: null,
  replaySeq: null,
  apply: (changes, time) => {
    now = time
    store.apply(changes)
  },
}

function LanesPage() {
  const [selection, setSelection] = useState<TimelineRef | null>(null)
  const [replaySeq, setReplaySeq] = useState<number | null>(null)
  const [range, setRange] = useState<[number, number] | null>(null)
  Object.assign(handle, { selection, replaySeq, range })
  return (
    <SwimLanes
      {...{ store, selection, replaySeq, range }}
      onSelect={setSelection}
      onReplay={setReplaySeq}
      onRange={setRange}
      now={() => now ?? Date.now()}
    />
  )
}

async function start(): Promise<void> {
  const response = await fetch(`timeline.json${location.search}`)
  const sample = (await response.json()) as LanesSample
  now = sample.now
  store.replace(sample.seq, sample.timeline)
  const root = document.getElementById('root')
  if (root) createRoot(root).render(<LanesPage />)
}

Object.assign(window, { lanesPage: handle })
void start()
