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
  /** Called with `false` for a lost connection. */
  setConnected(connected: boolean): void
  apply(changes: TimelineChanges, now: number): void
  /** Sends one input event per frame, as fast as frames come, and gives the intervals between frames in milliseconds. */
  measure(gesture: 'pan' | 'zoom' | 'scroll', frames: number): Promise<number[]>
}

const store = createTimelineStore()
let now: number | null = null

const handle: LanesPageHandle = {
  selection: null,
  range: null,
  replaySeq: null,
  setConnected: () => {},
  apply: (changes, time) => {
    now = time
    store.apply(changes)
  },
  measure: (gesture, frames) => {
    const plot = document.querySelector('.lanes-plot')
    const scroller = document.querySelector('.lanes-scroller')
    const box = plot?.getBoundingClientRect() ?? new DOMRect()
    const place = { clientX: box.left + box.width * 0.6, clientY: box.top + 150, bubbles: true, cancelable: true }
    const intervals: number[] = []
    return new Promise((resolve) => {
      let before = 0
      const step = (at: number) => {
        if (before > 0) intervals.push(at - before)
        before = at
        const half = intervals.length % 120 < 60 ? 1 : -1
        const wheel = gesture === 'pan' ? { deltaX: half * 14 } : { deltaY: -half * 6, ctrlKey: true }
        if (gesture === 'scroll') scroller?.scrollBy(0, half * 25)
        else plot?.dispatchEvent(new WheelEvent('wheel', { ...place, ...wheel }))
        if (intervals.length < frames) requestAnimationFrame(step)
        else resolve(intervals)
      }
      requestAnimationFrame(step)
    })
  },
}

function LanesPage() {
  const [selection, setSelection] = useState<TimelineRef | null>(null)
  const [replaySeq, setReplaySeq] = useState<number | null>(null)
  const [range, setRange] = useState<[number, number] | null>(null)
  const [connected, setConnected] = useState(true)
  Object.assign(handle, { selection, replaySeq, range, setConnected })
  return (
    <SwimLanes
      {...{ store, selection, replaySeq, range, connected }}
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
