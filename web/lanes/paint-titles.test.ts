import { expect, test } from 'vitest'
import { timelineOf } from '../../test/support/timeline-builder.ts'
import { createTimelineStore } from '../data/timeline-store.ts'
import type { Brush, Context } from './brush.ts'
import { CanvasText } from './canvas-text.ts'
import { sessionBoxes } from './lane-frame.ts'
import { LanesModel } from './lanes-model.ts'
import { paintTitles } from './paint-titles.ts'

const START = Date.UTC(2026, 10, 16, 9, 0, 0)
const SESSIONS = [
  ['first', 0, 60, 'A long session'],
  ['second', 100, 101, '3 findings'],
  ['third', 103, 104, 'approved'],
  ['fourth', 150, 151, 'writes the report'],
  ['fifth', 152, 200, 'The last one'],
] as const

/** A canvas that only measures and records texts; each character is 6 px wide. */
function recordingContext() {
  const drawn = new Map<string, number>()
  const known: Record<string, unknown> = {
    measureText: (text: string) => ({ width: text.length * 6 }),
    fillText: (text: string, x: number) => drawn.set(text, x),
  }
  const context = new Proxy(known, { get: (target, name: string) => target[name] ?? (() => {}), set: () => true })
  return { context: context as unknown as Context, drawn }
}

test('WL28 the title of a session that is too narrow for it stands beside its box, after or before it', () => {
  const timeline = timelineOf({
    ...{ title: 'Review', pattern: 'sample', start: START, end: 200, agents: [{ name: 'reviewer', model: 'm' }] },
    sessions: SESSIONS.map(([id, from, to, title]) => ({ id, agent: 'reviewer', from, to, title })),
    turns: SESSIONS.map(([session, from, to, title]) => ({ session, from, to, title })),
  })
  const store = createTimelineStore()
  store.replace(timeline.run[0]?.head ?? 0, timeline)
  const model = new LanesModel({ store, now: () => START + 200_000, onChange: () => {} })
  model.resize(900, 300)
  const frame = model.frame()
  const [row] = frame.visible
  if (!row) throw new Error('no lane')
  const { context, drawn } = recordingContext()
  const palette = { colours: new Proxy({}, { get: () => '#000' }) }
  paintTitles(context, frame, { palette, ratio: 1, text: new CanvasText('sans'), row } as unknown as Brush & {
    row: typeof row
  })
  const boxes = sessionBoxes(frame, row)
  const at = (title: string) => drawn.get(title) ?? Number.NaN
  expect(at('A long session')).toBeGreaterThan(boxes[0]?.x ?? 0)
  expect(at('3 findings') + 60).toBeLessThan(boxes[1]?.x ?? 0)
  expect(at('approved')).toBeGreaterThan((boxes[2]?.x ?? 0) + (boxes[2]?.width ?? 0))
  expect(at('writes the report') + 102).toBeLessThan(boxes[3]?.x ?? 0)
  expect(drawn.size).toBe(5)
})
