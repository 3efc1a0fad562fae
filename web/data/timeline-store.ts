import type {
  Timeline,
  TimelineChanges,
  TimelineRun,
  TimelineTable,
  TimelineTables,
} from '../../src/views/timeline/timeline.ts'
import type { BinPyramid } from './bin-pyramid.ts'
import { baseWidth, binPyramidFrom } from './bin-pyramid.ts'
import type { LaneColumns } from './lane-columns.ts'
import { laneColumnsFrom, upperBound } from './lane-columns.ts'
import type { TimelineMoment } from './timeline-moment.ts'
import { momentFrom } from './timeline-moment.ts'

/*
 * The rows of one run in the page.
 * 1. A snapshot followed by changes holds the same rows as a later snapshot.
 * 2. Arrays are replaced, not changed: the same array means the same rows.
 * 3. Listeners hear of a change once, after it is complete.
 */

export interface TimelineStore {
  replace(seq: number, timeline: Timeline): void
  apply(changes: TimelineChanges): void
  subscribe(listener: () => void): () => void
  /** Counts the changes: the snapshot of `useSyncExternalStore`. */
  readonly version: number
  /** The last event that the rows contain; 0 before the first snapshot. */
  readonly seq: number
  readonly run: TimelineRun | undefined
  rows<Table extends TimelineTable>(table: Table): readonly TimelineTables[Table][]
  get<Table extends TimelineTable>(table: Table, id: string): TimelineTables[Table] | undefined
  /** In order of appearance. */
  lanes(): readonly LaneColumns[]
  pyramid(lane: string, now: number): BinPyramid
  /** States and totals at an event; those of now without one. */
  at(seq?: number | null): TimelineMoment
  /** The time of the last event; 0 before the first. */
  readonly lastAt: number
  /** The time of an event, and the last event up to a time. */
  timeOf(seq: number): number
  seqAt(time: number): number
}

export const TIMELINE_TABLES: readonly TimelineTable[] = [
  'run',
  'lanes',
  'sessions',
  'turns',
  'calls',
  'gates',
  'links',
  'phases',
  'messages',
  'pauses',
  'notices',
]

type AnyRow = TimelineTables[TimelineTable]

interface TableRows {
  rows: readonly AnyRow[]
  positions: Map<string, number>
}

export function createTimelineStore(): TimelineStore {
  const tables = new Map<TimelineTable, TableRows>(TIMELINE_TABLES.map((name) => [name, newTable([])]))
  const listeners = new Set<() => void>()
  const columns = new LaneColumnsCache(rows)
  let version = 0
  let seq = 0
  let moments = new Map<number, TimelineMoment>()
  let clock: Clock | undefined
  let lastAt = 0

  function rows<Table extends TimelineTable>(table: Table): readonly TimelineTables[Table][] {
    return (tables.get(table)?.rows ?? []) as readonly TimelineTables[Table][]
  }
  function changed(): void {
    version += 1
    moments = new Map()
    clock = undefined
    for (const listener of [...listeners]) listener()
  }
  function currentClock(): Clock {
    clock ??= clockFrom(rows)
    return clock
  }
  function moment(at: number | null | undefined): TimelineMoment {
    const key = at === null || at === undefined ? Infinity : at
    const time = key >= seq ? lastAt : timeAt(currentClock(), key)
    const known = moments.get(key)
    if (known) return known
    if (moments.size > 8) moments.clear()
    const made = momentFrom({ rows, lanes: columns.lanes(), seq: key, time })
    moments.set(key, made)
    return made
  }

  return {
    replace: (head, timeline) => {
      for (const name of TIMELINE_TABLES) tables.set(name, newTable(timeline[name]))
      lastAt = Math.max(0, ...TIMELINE_TABLES.map((name) => latestTime(timeline[name])))
      seq = head
      columns.clear()
      changed()
    },
    apply: (changes) => {
      for (const name of TIMELINE_TABLES) {
        const updates = changes.rows[name]
        if (!updates || updates.length === 0) continue
        const table = tables.get(name)
        if (table) updateTable(table, updates)
        lastAt = Math.max(lastAt, latestTime(updates))
        columns.touch(name, updates)
      }
      seq = Math.max(seq, changes.seq)
      changed()
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    get version() {
      return version
    },
    get seq() {
      return seq
    },
    get lastAt() {
      return lastAt
    },
    get run() {
      return rows('run')[0]
    },
    rows,
    get: (table, id) => {
      const position = tables.get(table)?.positions.get(id)
      return position === undefined ? undefined : rows(table)[position]
    },
    lanes: () => columns.lanes(),
    pyramid: (lane, now) => columns.pyramid(lane, now),
    at: moment,
    timeOf: (event) => (event >= seq ? lastAt : timeAt(currentClock(), event)),
    seqAt: (time) => {
      const { seqs, times } = currentClock()
      return seqs[Math.max(0, upperBound(times, time) - 1)] ?? 0
    },
  }
}

type Rows = <Table extends TimelineTable>(table: Table) => readonly TimelineTables[Table][]

function newTable(rows: readonly AnyRow[]): TableRows {
  return { rows, positions: new Map(rows.map((row, index) => [row.id, index])) }
}

function updateTable(table: TableRows, updates: readonly AnyRow[]): void {
  const rows = [...table.rows]
  for (const row of updates) {
    const position = table.positions.get(row.id)
    if (position === undefined) table.positions.set(row.id, rows.push(row) - 1)
    else rows[position] = row
  }
  table.rows = rows
}

/** Columns of the lanes, made when they are asked for; a change of a row renews only its lane. */
class LaneColumnsCache {
  readonly #rows: Rows
  #made = new Map<string, LaneColumns>()
  #pyramids = new Map<string, { width: number; now: number; pyramid: BinPyramid }>()
  #list: readonly LaneColumns[] | undefined

  constructor(rows: Rows) {
    this.#rows = rows
  }

  clear(): void {
    this.#made.clear()
    this.#pyramids.clear()
    this.#list = undefined
  }

  touch(table: TimelineTable, updates: readonly AnyRow[]): void {
    this.#list = undefined
    for (const row of updates) {
      const lane = table === 'lanes' ? row.id : 'lane' in row ? row.lane : null
      if (lane !== null) this.#drop(lane)
      const parent = table === 'sessions' && 'parent' in row ? row.parent : null
      for (const session of parent === null ? [] : this.#rows('sessions')) {
        if (session.session_id === parent || session.id === parent) this.#drop(session.lane)
      }
    }
  }

  lanes(): readonly LaneColumns[] {
    this.#list ??= this.#makeList()
    return this.#list
  }

  pyramid(lane: string, now: number): BinPyramid {
    const run = this.#rows('run')[0]
    const width = baseWidth((run?.ended_at ?? now) - (run?.started_at ?? now))
    this.lanes()
    const columns = this.#made.get(lane)
    const known = this.#pyramids.get(lane)
    const stale = columns?.last === Infinity && known !== undefined && now - known.now > width
    if (known && known.width === width && !stale) return known.pyramid
    const pyramid = columns ? binPyramidFrom(columns, { width, now }) : []
    this.#pyramids.set(lane, { width, now, pyramid })
    return pyramid
  }

  #drop(lane: string): void {
    this.#made.delete(lane)
    this.#pyramids.delete(lane)
  }

  #makeList(): readonly LaneColumns[] {
    const lanes = this.#rows('lanes')
    if (lanes.some(({ id }) => !this.#made.has(id))) this.#makeMissing()
    return lanes.flatMap(({ id }) => this.#made.get(id) ?? [])
  }

  #makeMissing(): void {
    const missing = (lane: string | null) => lane !== null && !this.#made.has(lane)
    const groups = {
      sessions: Map.groupBy(this.#rows('sessions'), ({ lane }) => lane),
      turns: Map.groupBy(this.#rows('turns'), ({ lane }) => lane),
      calls: Map.groupBy(this.#rows('calls'), ({ lane }) => lane),
      gates: Map.groupBy(this.#rows('gates'), ({ lane }) => lane),
    }
    const delegating = new Set(this.#rows('sessions').flatMap(({ call }) => call ?? []))
    this.#rows('lanes').forEach((lane, index) => {
      if (!missing(lane.id)) return
      const own = {
        sessions: groups.sessions.get(lane.id) ?? [],
        turns: groups.turns.get(lane.id) ?? [],
        calls: groups.calls.get(lane.id) ?? [],
        gates: groups.gates.get(lane.id) ?? [],
      }
      this.#made.set(lane.id, laneColumnsFrom({ lane, index, delegating, ...own }))
    })
  }
}

function latestTime(rows: readonly AnyRow[]): number {
  let latest = 0
  for (const row of rows) {
    if ('started_at' in row) latest = Math.max(latest, row.started_at, row.ended_at ?? 0)
    else if ('at' in row) latest = Math.max(latest, row.at)
  }
  return latest
}

interface Clock {
  seqs: Float64Array
  /** Never going back, so that it can be searched. */
  times: Float64Array
}

function clockFrom(rows: Rows): Clock {
  const times = new Map<number, number>()
  for (const table of ['run', 'sessions', 'turns', 'calls', 'gates', 'links', 'phases', 'pauses'] as const) {
    for (const row of rows(table)) {
      times.set(row.seq, row.started_at)
      if (row.ended_seq !== null && row.ended_at !== null) times.set(row.ended_seq, row.ended_at)
    }
  }
  for (const row of [...rows('messages'), ...rows('notices')]) times.set(row.seq, row.at)
  const sorted = [...times].sort((a, b) => a[0] - b[0])
  let latest = -Infinity
  return {
    seqs: Float64Array.from(sorted, ([seq]) => seq),
    times: Float64Array.from(sorted, ([, time]) => {
      latest = Math.max(latest, time)
      return latest
    }),
  }
}

function timeAt({ seqs, times }: Clock, seq: number): number {
  return times[Math.max(0, upperBound(seqs, seq) - 1)] ?? 0
}
