import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { TimelineStore } from '../data/timeline-store.ts'
import type { Idleness, IdleTime } from './idle-gaps.ts'
import { gapsFor, idlenessOf, idleUntil } from './idle-gaps.ts'
import type { LaneBands } from './lane-bands.ts'
import { laneBandsFrom } from './lane-bands.ts'
import type { Frame } from './lane-frame.ts'
import type { Level } from './lane-levels.ts'
import type { LaneRows } from './lane-rows.ts'
import { idleLanes, laneRows, orderLanes, rowsBetween } from './lane-rows.ts'
import { LevelChoice } from './level-choice.ts'
import type { GapsAt, TimeScale, View } from './time-scale.ts'
import { clampZoom, createTimeScale, fitRange, panBy, viewWith, zoomAt } from './time-scale.ts'

/*
 * The state of the swimlanes without the page: the view, the level, gaps, lanes and their heights.
 * 1. The level and the gaps follow from the scale; heights of lanes change only when the view has settled.
 * 2. While the view follows now, now stands 16 px before the right edge.
 */

/** Height of the axis, and of the axis with phases below it. */
const AXIS = 26
const AXIS_WITH_PHASES = 46
const LEFT = 10
const AIR = 16
/** A live run is not shown smaller than this while it is followed, in pixels per second. */
const SMALLEST_LIVE = 0.85
const SHORTEST_SPAN = 2_000
const NARROW = 720
const NARROW_SPAN = 300_000
const NO_GAPS: GapsAt = () => []

export interface LanesOptions {
  store: TimelineStore
  /** The time of now; it stops while the connection is lost. */
  now: () => number
  onChange: () => void
}

export class LanesModel {
  readonly store: TimelineStore
  readonly #now: () => number
  readonly #onChange: () => void
  #view: View | null = null
  readonly #levels = new LevelChoice()
  /** A live run is shown from its start as long as nobody chose another scale. */
  #fitsLive = true
  #idle: ReadonlySet<string> = new Set()
  #expanded: ReadonlySet<number> = new Set()
  #collapsesGaps = true
  #follows = true
  /** The view was chosen here, not by the reader: it fits the run again when rows or the size change. */
  #automatic = true
  #wanted: { from: number; to: number } | null = null
  #width = 0
  #height = 0
  #idleness: (Idleness & { version: number }) | null = null
  #derived: { version: number; level: Level; idle: ReadonlySet<string>; rows: LaneRows; bands: LaneBands } | null = null
  top = 0
  selection: TimelineRef | null = null
  /** Time of the selection: following now ends before it would be scrolled away. */
  held: number | null = null
  hover: TimelineRef | null = null
  playhead: number | null = null

  constructor({ store, now, onChange }: LanesOptions) {
    this.store = store
    this.#now = now
    this.#onChange = onChange
  }

  get width(): number {
    return this.#width
  }
  get height(): number {
    return this.#height
  }
  get level(): Level {
    return this.#levels.level
  }
  get follows(): boolean {
    return this.#follows && this.live
  }
  get automatic(): boolean {
    return this.#automatic
  }
  get collapsesGaps(): boolean {
    return this.#collapsesGaps
  }
  get live(): boolean {
    const { run } = this.store
    return run !== undefined && run.ended_at === null
  }
  /** The right end of time: now, or the end of the run. */
  get end(): number {
    const { run } = this.store
    const last = this.store.lastAt
    return Math.max(last, run === undefined || run.ended_at !== null ? last : this.#now())
  }
  get start(): number {
    return this.store.run?.started_at ?? 0
  }

  /** Height of the axis and, if there are any, the phases. */
  get header(): number {
    return this.store.rows('phases').length > 0 ? AXIS_WITH_PHASES : AXIS
  }

  gapsAt(): GapsAt {
    if (!this.#collapsesGaps) return NO_GAPS
    return gapsFor(this.idle(), { expanded: this.#expanded, now: this.end })
  }

  /** Times in which nothing ran. */
  idle(): readonly IdleTime[] {
    const { version } = this.store
    if (this.#idleness?.version !== version) {
      this.#idleness = { version, ...idlenessOf(this.store.lanes(), this.start, this.store.rows('gates')) }
    }
    return idleUntil(this.#idleness, this.end)
  }

  scale(): TimeScale {
    const gapsAt = this.gapsAt()
    const view = this.#view ?? this.#startView(gapsAt)
    return createTimeScale(view, gapsAt(view.k, this.#width))
  }

  rows(): LaneRows {
    return this.#derive().rows
  }

  frame(): Frame {
    const scale = this.scale()
    const { rows, bands } = this.#derive()
    const to = this.top + this.#height - this.header
    return {
      store: this.store,
      scale,
      level: this.level,
      rows,
      bands,
      visible: rowsBetween(rows.rows, { from: this.top, to }),
      width: this.#width,
      height: this.#height,
      header: this.header,
      top: this.top,
      now: this.end,
      live: this.live,
      selection: this.selection,
      hover: this.hover,
      playhead: this.playhead,
    }
  }

  resize(width: number, height: number): void {
    if (width === this.#width && height === this.#height) return
    this.#width = width
    this.#height = height
    if (this.#wanted && width > 0) this.showRange(this.#wanted.from, this.#wanted.to)
    else this.tick()
  }

  /** New rows have arrived, or time has passed. */
  tick(): void {
    if (this.#width > 0 && this.#automatic && !this.live) this.#view = this.#fitView(this.start, this.end)
    else if (this.#width > 0 && this.follows && this.playhead === null) this.#slide()
    this.#changed()
  }

  pan(pixels: number): void {
    this.#move(panBy(this.scale(), pixels))
  }

  zoom(x: number, factor: number): void {
    this.#move(zoomAt(this.scale(), { x, factor, width: this.#width }, this.gapsAt()))
  }

  fit(): void {
    this.#view = this.#fitView(this.start, this.end)
    this.#follows = false
    this.#automatic = !this.live
    this.#levels.release()
    this.#changed()
  }

  showRange(from: number, to: number): void {
    this.#wanted = this.#width > 0 ? null : { from, to }
    if (this.#width === 0) return
    this.#move(fitRange({ from, to }, { width: this.#width, left: 0, right: 0 }, this.gapsAt()))
  }

  showLevel(level: Level): void {
    const anchor = this.follows ? this.#width - AIR : this.#width / 2
    const follows = this.#follows
    const fitted = this.#startView(this.gapsAt()).k
    const k = clampZoom(this.#levels.choose(level, fitted * 1000) / 1000)
    this.#move(viewWith(this.scale().time(anchor), { x: anchor, k, width: this.#width }, this.gapsAt()))
    this.#follows = follows
    this.#fitsLive = k === fitted
    this.#automatic = (follows && this.live) || (!this.live && this.#fitsLive)
    if (this.#automatic) this.tick()
  }

  /** Moves a time to the middle if it is not in view. */
  reveal(from: number, to: number): void {
    const scale = this.scale()
    const left = scale.x(from)
    const right = scale.x(Math.min(to, this.end))
    if (left >= 0 && left <= this.#width - 20 && (right <= this.#width || right - left > this.#width)) return
    this.pan(left - Math.max(30, (this.#width - (right - left)) / 2))
  }

  /** Follows the playhead of a replay: a page further when it leaves the view. */
  keepInView(time: number): void {
    const x = this.scale().x(time)
    if (x < 0 || x > this.#width - 20) this.pan(x - 60)
  }

  toggleFollow(on = !this.#follows): void {
    this.#follows = on
    this.#automatic = on
    this.held = null
    const k = this.#view?.k
    if (on && k !== undefined) this.#fitsLive = Math.abs(k / this.#startView(this.gapsAt()).k - 1) < 0.2
    if (on) this.#slide()
    this.#changed()
  }

  toggleGaps(): void {
    this.#collapsesGaps = !this.#collapsesGaps
    this.#expanded = new Set()
    this.tick()
  }

  expandGap(from: number): void {
    this.#expanded = new Set([...this.#expanded, from])
    this.#changed()
  }

  /** Called when the view has not moved for a moment: lanes without an event in view become low. */
  settle(): boolean {
    const scale = this.scale()
    const idle =
      this.level === 1 ? new Set<string>() : idleLanes(this.store.lanes(), scale.time(0), scale.time(this.#width))
    if (idle.size === this.#idle.size && [...idle].every((lane) => this.#idle.has(lane))) return false
    const anchor = this.rows().rows.findLast(({ y }) => y <= this.top)
    const offset = this.top - (anchor?.y ?? 0)
    this.#idle = idle
    this.top = Math.max(0, (this.rows().byLane.get(anchor?.id ?? '')?.y ?? 0) + offset)
    this.#changed()
    return true
  }

  #move(view: View): void {
    this.#view = this.#clamp(view)
    this.#follows = false
    this.#automatic = false
    this.#changed()
  }

  /** At least a quarter of the view shows the run. */
  #clamp(view: View): View {
    const gapsAt = this.gapsAt()
    const scale = createTimeScale(view, gapsAt(view.k, this.#width))
    const edge = this.#width / 4
    if (scale.x(this.end) < edge) return viewWith(this.end, { x: edge, k: view.k, width: this.#width }, gapsAt)
    if (scale.x(this.start) > this.#width - edge) {
      return viewWith(this.start, { x: this.#width - edge, k: view.k, width: this.#width }, gapsAt)
    }
    return view
  }

  #slide(): void {
    const gapsAt = this.gapsAt()
    const start = this.#startView(gapsAt)
    const k = this.#view?.k ?? start.k
    const next = this.#fitsLive ? start : viewWith(this.end, { x: this.#width - AIR, k, width: this.#width }, gapsAt)
    if (this.#view && this.held !== null && this.held >= this.#view.from && this.held < next.from) {
      this.#follows = false
      this.#automatic = false
    } else this.#view = next
  }

  #startView(gapsAt: GapsAt): View {
    if (!this.live) return this.#fitView(this.start, this.end)
    const narrow = this.#width < NARROW - 36
    const from = narrow ? Math.max(this.start, this.end - NARROW_SPAN) : this.start
    const view = this.#fitView(from, Math.max(this.end, from + SHORTEST_SPAN))
    if (view.k * 1000 >= SMALLEST_LIVE && !narrow) return view
    const k = Math.max(view.k, SMALLEST_LIVE / 1000)
    return viewWith(this.end, { x: this.#width - AIR, k, width: this.#width }, gapsAt)
  }

  #fitView(from: number, to: number): View {
    return fitRange({ from, to }, { width: this.#width, left: LEFT, right: AIR }, this.gapsAt())
  }

  /** Pixels per second of the whole run in this width; computed once a second. */
  #fittedScale(): number {
    const key = `${this.store.version} ${this.#width} ${Math.floor(this.end / 1000)} ${this.#collapsesGaps}`
    if (this.#fitted?.key !== key) this.#fitted = { key, scale: this.#fitView(this.start, this.end).k * 1000 }
    return this.#fitted.scale
  }
  #fitted: { key: string; scale: number } | null = null

  #derive(): { rows: LaneRows; bands: LaneBands } {
    const level = this.#levels.update({
      scale: (this.#view?.k ?? 0.001) * 1000,
      fitted: this.#fittedScale(),
      calls: this.store.rows('calls').length,
      lanes: this.store.rows('lanes').length,
      automatic: this.#automatic,
    })
    const { version } = this.store
    const known = this.#derived
    const same = known?.version === version
    if (same && known.level === level && known.idle === this.#idle) return known
    const bands = same ? known.bands : laneBandsFrom(this.store)
    const rows = laneRows(orderLanes(this.store.lanes()), level, this.#idle)
    this.#derived = { version, level, idle: this.#idle, rows, bands }
    return this.#derived
  }

  #changed(): void {
    this.#onChange()
  }
}
