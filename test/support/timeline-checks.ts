import { expect } from 'vitest'
import type { Timeline } from '../../src/entries/inspect.ts'
import { accountsFrom, sumAccounts } from '../../src/entries/inspect.ts'
import type { PriceBook } from '../../src/entries/models.ts'
import type { Event } from '../../src/index.ts'
import type { TimelineSources } from '../../src/views/timeline/reduce-timeline.ts'
import {
  newTimeline,
  reduceTimeline,
  takeChanges,
  timelineFrom,
  timelineSnapshot,
} from '../../src/views/timeline/reduce-timeline.ts'

/* Properties that hold for the timeline of any journal. */

type Rows = Record<string, { id: string }[]>

/** Applies changes as a page does. */
export function applyChanges(timeline: Timeline, { rows }: ReturnType<typeof takeChanges>): void {
  const tables = timeline as unknown as Rows
  for (const [table, changed] of Object.entries(rows as Rows)) {
    const own = tables[table] ?? []
    const places = new Map(own.map(({ id }, place) => [id, place]))
    for (const row of changed) {
      const place = places.get(row.id)
      if (place === undefined) own.push(row)
      else own[place] = row
    }
  }
}

/** The changes from event `k` on, applied to the timeline at `k`, give the timeline at the end. */
export function expectChangesFrom(events: readonly Event[], k: number, sources: TimelineSources): void {
  const state = newTimeline(sources)
  for (const event of events.slice(0, k)) reduceTimeline(state, event)
  takeChanges(state)
  const known = structuredClone(timelineSnapshot(state))
  for (const event of events.slice(k)) {
    reduceTimeline(state, event)
    applyChanges(known, structuredClone(takeChanges(state)))
  }
  expect(known).toEqual(timelineFrom(events, sources))
}

/** The state of each row at an earlier event, as a page finds it from the rows at the end. */
export function statusesAt(timeline: Timeline, seq: number): Record<string, string> {
  const then = <Row extends { seq: number }>(rows: readonly Row[]) => rows.filter((row) => row.seq <= seq)
  const isOpen = ({ ended_seq }: { ended_seq: number | null }) => ended_seq === null || ended_seq > seq
  const waiting = new Set(
    then(timeline.gates)
      .filter(isOpen)
      .flatMap(({ call, session }) => [call, session]),
  )
  const statuses: Record<string, string> = {}
  for (const table of ['sessions', 'turns', 'calls'] as const) {
    for (const row of then<(typeof timeline)[typeof table][number]>(timeline[table]))
      statuses[`${table} ${row.id}`] = !isOpen(row) ? row.status : waiting.has(row.id) ? 'waiting' : 'running'
  }
  for (const gate of then(timeline.gates)) statuses[`gates ${gate.id}`] = isOpen(gate) ? 'open' : 'closed'
  return statuses
}

/** Filtering the final rows gives the states of every beginning of the journal. */
export function expectReplay(events: readonly Event[], sources: TimelineSources): void {
  const final = timelineFrom(events, sources)
  for (let k = 1; k <= events.length; k++) {
    const prefix = timelineFrom(events.slice(0, k), sources)
    const shown: Record<string, string> = {}
    for (const table of ['sessions', 'turns', 'calls'] as const)
      for (const row of prefix[table]) shown[`${table} ${row.id}`] = row.status
    for (const gate of prefix.gates) shown[`gates ${gate.id}`] = gate.ended_seq === null ? 'open' : 'closed'
    expect(statusesAt(final, k), `after event ${k}`).toEqual(shown)
  }
}

/** Ids are unique, references lead somewhere, spans are not negative. */
export function expectValid(timeline: Timeline): void {
  const tables = Object.entries(timeline as unknown as Rows)
  const ids = Object.fromEntries(
    tables.map(([table, rows]) => [table, new Set<string | null>(rows.map(({ id }) => id))]),
  )
  for (const [table, rows] of tables) expect(ids[table]?.size, table).toBe(rows.length)
  const known = (table: string, id: string | null) => id === null || ids[table]?.has(id)
  for (const { parent } of timeline.lanes) expect(known('lanes', parent)).toBe(true)
  for (const row of timeline.sessions) {
    expect([known('lanes', row.lane), known('sessions', row.parent), known('calls', row.call)]).toEqual([
      true,
      true,
      true,
    ])
  }
  for (const row of [...timeline.turns, ...timeline.calls])
    expect([known('sessions', row.session), known('lanes', row.lane)], row.id).toEqual([true, true])
  for (const { turn } of timeline.calls) expect(known('turns', turn)).toBe(true)
  for (const { from, to, from_session, to_session } of timeline.links)
    expect(
      [from, to].every((id) => known('lanes', id)) && [from_session, to_session].every((id) => known('sessions', id)),
    ).toBe(true)
  for (const { from, to } of timeline.messages) expect([from, to].every((id) => known('lanes', id))).toBe(true)
  const { run, sessions, turns, calls, gates, links, phases, pauses } = timeline
  for (const row of [run, sessions, turns, calls, gates, links, phases, pauses].flat()) {
    expect(row.ended_at ?? row.started_at, row.id).toBeGreaterThanOrEqual(row.started_at)
    expect(row.ended_seq ?? row.seq, row.id).toBeGreaterThanOrEqual(row.seq)
    expect((row.ended_at === null) === (row.ended_seq === null), row.id).toBe(true)
  }
  expectOneSessionAtATime(timeline)
}

/** The sessions of a lane do not overlap. */
function expectOneSessionAtATime({ sessions }: Timeline): void {
  for (const rows of Map.groupBy(sessions, ({ lane }) => lane).values()) {
    for (const [index, { seq, id }] of rows.entries()) {
      const before = rows[index - 1]
      if (before)
        expect(before.ended_seq ?? Number.POSITIVE_INFINITY, `${before.id} and ${id}`).toBeLessThanOrEqual(seq)
    }
  }
}

/** The costs of the run are those of its accounts, without inherited ones. Returns its timeline. */
export function expectSameCosts(events: readonly Event[], prices: PriceBook): Timeline {
  const timeline = timelineFrom(events, { prices })
  const sum = sumAccounts(accountsFrom(events, prices).filter(({ inherited }) => !inherited))
  const { calls: requests, usd, known_usd, usage } = sum
  const tokens = { input: usage.input, output: usage.output, cached: usage.cache_read }
  expect(timeline.run).toMatchObject([{ requests, usd, known_usd, tokens }])
  return timeline
}

/** In a journal that a run wrote, every request belongs to a turn. */
export function expectCostsOfTurns({ run, turns }: Timeline): void {
  const inherited = run[0]?.forked_from?.inherited ?? 0
  const own = turns.filter(({ seq }) => seq > inherited)
  for (const field of ['input', 'output', 'cached'] as const)
    expect(own.reduce((total, turn) => total + turn.tokens[field], 0)).toBe(run[0]?.tokens[field])
  const usd = own.reduce((total, turn) => total + (turn.usd ?? 0), 0)
  expect(usd).toBeCloseTo(run[0]?.known_usd ?? 0, 9)
}
