import fc from 'fast-check'
import { expect, test } from 'vitest'
import { voteSample } from '../../test/support/more-sample-timelines.ts'
import { BUILD_SAMPLE_NOW, buildSample } from '../../test/support/sample-timelines.ts'
import { changesBetween, timelineUpTo } from '../../test/support/timeline-builder.ts'
import type { TimelineStore } from './timeline-store.ts'
import { createTimelineStore, TIMELINE_TABLES } from './timeline-store.ts'

const sample = buildSample()
const head = sample.run[0]?.head ?? 0

function contentOf(store: TimelineStore) {
  return {
    seq: store.seq,
    rows: TIMELINE_TABLES.map((table) => store.rows(table)),
    lanes: store.lanes(),
    moment: store.at(),
    pyramids: store.lanes().map(({ lane }) => store.pyramid(lane.id, BUILD_SAMPLE_NOW)),
  }
}

function storeAt(seq: number): TimelineStore {
  const store = createTimelineStore()
  store.replace(seq, timelineUpTo(sample, seq))
  return store
}

test('TL5 a snapshot followed by changes holds the same rows, columns, bins and totals as a later snapshot', () => {
  const seqs = fc.uniqueArray(fc.integer({ min: 1, max: head }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(seqs, (unsorted) => {
      const [first = 1, ...later] = unsorted.sort((a, b) => a - b)
      const store = storeAt(first)
      let before = timelineUpTo(sample, first)
      contentOf(store)
      for (const seq of later) {
        const after = timelineUpTo(sample, seq)
        store.apply(changesBetween(before, after, seq))
        before = after
      }
      const last = later.at(-1) ?? first
      const expected = contentOf(storeAt(last))
      const byId = (rows: readonly { id: string }[]) => new Map(rows.map((row) => [row.id, row]))
      const content = contentOf(store)
      expect(content.rows.map(byId)).toEqual(expected.rows.map(byId))
      expect({ ...content, rows: null }).toEqual({ ...expected, rows: null })
    }),
    { numRuns: 40 },
  )
})

test('WL2 the moment at an event equals the one of a store that has seen nothing later', () => {
  const whole = storeAt(head)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: head }), (seq) => {
      const moment = whole.at(seq)
      const early = storeAt(seq).at(seq)
      expect({ ...moment, lanes: [...moment.lanes.keys()] }).toEqual({ ...early, lanes: [...early.lanes.keys()] })
      for (const [lane, expected] of early.lanes) {
        const found = moment.lanes.get(lane)
        expect(found).toEqual(expected)
      }
    }),
    { numRuns: 60 },
  )
})

test('WL2 the moment at an event counts what a filter by sequence counts', () => {
  const store = storeAt(head)
  for (let seq = 1; seq <= head; seq += 7) {
    const moment = store.at(seq)
    expect(moment.calls).toBe(sample.calls.filter((call) => call.seq <= seq).length)
    expect(moment.tokens.output).toBe(
      sample.turns
        .filter(({ responded_seq }) => responded_seq !== null && responded_seq <= seq)
        .reduce((total, { tokens }) => total + tokens.output, 0),
    )
    expect(moment.messages).toBe(sample.messages.filter((message) => message.seq <= seq).length)
  }
})

test('WL2 the state of a lane says who needs a person, who is blocked and who waits for others', () => {
  const store = storeAt(head)
  const now = store.at().lanes
  expect(now.get('architect')).toMatchObject({ state: 'pending', action: 'waits for 2 tasks' })
  expect(now.get('developer-1')).toMatchObject({ state: 'completed' })
  expect(now.get('developer-2')).toMatchObject({ state: 'waiting', gate: 'g2' })
  expect(now.get('developer-3')).toMatchObject({ state: 'running', action: 'Bash npm run e2e -- code' })
  const blocked = sample.pauses[0]?.seq ?? 0
  expect(store.at(blocked).lanes.get('developer-2')).toMatchObject({ state: 'stalled', action: 'Blocked by task 1' })
})

test('a failed session makes its lane failed until the next session opens', () => {
  const votes = voteSample()
  const store = createTimelineStore()
  store.replace(votes.run[0]?.head ?? 0, votes)
  const failed = votes.sessions.find(({ status }) => status === 'failed')
  expect(store.at(failed?.ended_seq ?? 0).lanes.get('farmer')?.state).toBe('failed')
  expect(store.at().lanes.get('farmer')?.state).toBe('completed')
})

test('subscribers hear of a change once, after the rows are complete', () => {
  const store = storeAt(10)
  const seen: [number, number][] = []
  const stop = store.subscribe(() => seen.push([store.version, store.rows('turns').length]))
  const version = store.version
  store.apply(changesBetween(timelineUpTo(sample, 10), timelineUpTo(sample, head), head))
  stop()
  store.apply({ seq: head, rows: {} })
  expect(seen).toEqual([[version + 1, sample.turns.length]])
})

test('the time of an event and the last event up to a time are inverse', () => {
  const store = storeAt(head)
  for (const { seq, started_at } of sample.calls) {
    expect(store.timeOf(seq)).toBe(started_at)
    expect(store.seqAt(started_at)).toBeGreaterThanOrEqual(seq)
    expect(store.timeOf(store.seqAt(started_at))).toBe(started_at)
  }
  expect(store.seqAt(0)).toBe(1)
})
