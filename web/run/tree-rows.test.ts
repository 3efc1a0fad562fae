import { describe, expect, test } from 'vitest'
import { buildSample } from '../../test/support/sample-timelines.ts'
import { createTimelineStore } from '../data/timeline-store.ts'
import { lanesOf, neighboursOf, seqOf } from './neighbours.ts'
import { moveInTree } from './tree-keys.ts'
import type { TreeRow } from './tree-rows.ts'
import { ancestorsOf, rowId, treeRows } from './tree-rows.ts'

function sampleStore() {
  const store = createTimelineStore()
  const timeline = buildSample()
  const head = Math.max(...timeline.calls.map(({ seq, ended_seq }) => ended_seq ?? seq))
  store.replace(head, timeline)
  return store
}

/** Presses keys one after another, as a person would. */
function press(store: ReturnType<typeof sampleStore>, keys: readonly string[]) {
  let active: string | null = null
  let expanded: ReadonlySet<string> = new Set()
  let opened: string | null = null
  for (const key of keys) {
    const move = moveInTree(key, { rows: treeRows(store, { seq: null, expanded }), expanded, active })
    active = move?.active ?? active
    expanded = move?.expanded ?? expanded
    if (move?.open) opened = rowId(move.open)
  }
  return { active, expanded, opened, rows: treeRows(store, { seq: null, expanded }) }
}

describe('the treegrid', () => {
  test('WR10 rows are agents, their sessions, turns and calls, with the place among their siblings', () => {
    const store = sampleStore()
    const closed = treeRows(store, { seq: null, expanded: new Set() })
    expect(closed.map(({ title }) => title)).toEqual(store.rows('lanes').map(({ label }) => label))
    const turn = store.rows('turns').find(({ lane }) => lane !== closed[0]?.lane.id)
    const call = store.rows('calls').find((row) => row.turn === turn?.id)
    const open = treeRows(store, {
      seq: null,
      expanded: new Set(ancestorsOf(store, { kind: 'call', id: call?.id ?? '' })),
    })
    const path: TreeRow[] = []
    for (
      let row = open.find(({ id }) => id === `call:${call?.id}`);
      row;
      row = open.find(({ id }) => id === row?.parent)
    )
      path.unshift(row)
    expect(path.map(({ ref, level }) => [ref.kind, level])).toEqual([
      ['agent', 1],
      ['session', 2],
      ['turn', 3],
      ['call', 4],
    ])
    for (const row of open) expect(row.position).toBeLessThanOrEqual(row.siblings)
  })

  test('WR10 at an earlier event, later rows are missing and what ended later is open', () => {
    const store = sampleStore()
    const session = store.rows('sessions').find((row) => row.parent !== null && row.ended_seq !== null)
    if (!session?.ended_seq) throw new Error('the sample has no ended session')
    const expanded = new Set([`agent:${session.lane}`])
    const rowAt = (seq: number) => treeRows(store, { seq, expanded }).find(({ id }) => id === `session:${session.id}`)
    expect(rowAt(session.seq - 1)).toBeUndefined()
    expect(rowAt(session.ended_seq - 1)).toMatchObject({ state: 'running', ended_at: null })
    expect(rowAt(session.ended_seq)).toMatchObject({ state: session.status, ended_at: session.ended_at })
  })

  test('WR11 the keys open, close, enter and leave rows, and Enter opens the detail', () => {
    const store = sampleStore()
    const first = store.rows('lanes')[0]
    const inside = press(store, ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'Enter'])
    expect(inside.opened).toMatch(/^(turn|delegation|handoff|message|event):/)
    const left = press(store, ['ArrowRight', 'ArrowRight', 'ArrowLeft', 'ArrowLeft'])
    expect([left.active, left.expanded.size]).toEqual([`agent:${first?.id}`, 0])
    expect(press(store, ['End']).active).toBe(`agent:${store.rows('lanes').at(-1)?.id}`)
    expect(press(store, ['End', 'ArrowDown', 'ArrowDown', 'Home', 'ArrowUp']).active).toBe(`agent:${first?.id}`)
    expect(moveInTree('x', { rows: left.rows, expanded: new Set(), active: null })).toBeNull()
  })

  test('WR12 previous and next go through the places of the same kind', () => {
    const store = sampleStore()
    const calls = store.rows('calls').filter(({ lane }) => lane === store.rows('calls')[0]?.lane)
    const [one, two, three] = calls.map(({ id }) => ({ kind: 'call', id }) as const)
    if (!one || !two || !three) throw new Error('the sample has too few calls')
    expect(neighboursOf(store, two)).toEqual({ previous: one, next: three })
    expect(neighboursOf(store, one).previous).toBeNull()
    expect(neighboursOf(store, { kind: 'event', id: '1' })).toEqual({
      previous: null,
      next: { kind: 'event', id: '2' },
    })
    expect(neighboursOf(store, { kind: 'call', id: 'unknown' })).toEqual({ previous: null, next: null })
    expect(seqOf(store, two)).toBe(calls[1]?.seq)
    expect(lanesOf(store, two)).toEqual([calls[1]?.lane])
  })
})
