import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { TimelineStore } from '../data/timeline-store.ts'
import type { Hit } from './hit-test.ts'
import { hitTest } from './hit-test.ts'
import type { Level } from './lane-levels.ts'
import { placeOf } from './lane-navigation.ts'
import type { LaneLabel, LaneRow, LaneRows } from './lane-rows.ts'
import { fullHeight, rowsBetween } from './lane-rows.ts'
import type { CanvasName } from './lanes-canvas.ts'
import { LanesCanvas } from './lanes-canvas.ts'
import { LanesModel } from './lanes-model.ts'
import { MinimapCanvas } from './paint-minimap.ts'
import { watchTheme } from './palette.ts'
import { isSameRef } from './selection-focus.ts'
import type { SpanTotals } from './span-totals.ts'
import { spanTotals } from './span-totals.ts'
import type { TooltipText } from './tooltip-text.ts'
import { tooltipText } from './tooltip-text.ts'

/*
 * Connects the model with the page: when to paint, where the pointer is, and what the controls around the canvases show.
 * 1. At most one painting per frame; a pointer that moves paints only links and overlay.
 * 2. `chrome` changes only when a control looks different, so that panning does not render React.
 */

export interface Chrome {
  level: Level
  follows: boolean
  live: boolean
  collapsesGaps: boolean
  /** Labels in view, and ten more on either side. */
  labels: readonly LaneLabel[]
  /** Height of the axis and the phases. */
  header: number
  contentHeight: number
  /** Height for all lanes; lanes that are low for a while leave it as it is. The style sheet limits it. */
  areaHeight: number
  /** Events that came while the view did not follow. */
  unseen: number
  tooltip: (TooltipText & { x: number; y: number }) | null
  totals: (SpanTotals & { x: number }) | null
}

export interface LanesElements {
  scroller: HTMLElement
  labels: HTMLElement
  canvases: ReadonlyMap<CanvasName, HTMLCanvasElement>
  minimap: HTMLCanvasElement
}

const SETTLE_MS = 220
const LABEL_MARGIN = 10

export class LanesController {
  readonly model: LanesModel
  readonly #listeners = new Set<() => void>()
  #elements: LanesElements | null = null
  #canvas: LanesCanvas | null = null
  #frame = 0
  #wholePainting = true
  #painted = false
  #minimap: MinimapCanvas | null = null
  #minimapWidth = 0
  #labelTop = 0
  #settle: ReturnType<typeof setTimeout> | undefined
  #span: { from: number; to: number } | null = null
  #labelRows: LaneRows | null = null
  #seenSeq = 0
  connected = true
  /** Called when the view has settled; `null` when it follows now or fits the run. */
  onRange: ((range: [from: number, to: number] | null) => void) | null = null
  chrome: Chrome

  constructor(store: TimelineStore, now: () => number) {
    this.model = new LanesModel({ store, now, onChange: () => this.schedule() })
    this.chrome = {
      level: 3,
      follows: this.model.follows,
      live: this.model.live,
      collapsesGaps: true,
      labels: [],
      header: this.model.header,
      contentHeight: 0,
      areaHeight: 0,
      unseen: 0,
      tooltip: null,
      totals: null,
    }
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  mount(elements: LanesElements): () => void {
    this.#elements = elements
    this.#canvas = new LanesCanvas(elements.scroller, elements.canvases)
    this.#minimap = new MinimapCanvas(elements.minimap)
    const measure = () => {
      const { clientWidth, clientHeight } = elements.scroller
      this.#minimapWidth = elements.minimap.clientWidth
      this.model.resize(Math.max(0, clientWidth - elements.labels.offsetWidth), clientHeight)
    }
    const onScroll = () => {
      this.model.top = elements.scroller.scrollTop
      this.setTooltip(null)
      this.schedule()
    }
    const observer = new ResizeObserver(measure)
    observer.observe(elements.scroller)
    observer.observe(elements.labels)
    observer.observe(elements.minimap)
    elements.scroller.addEventListener('scroll', onScroll, { passive: true })
    const stopStore = this.model.store.subscribe(() => this.model.tick())
    const stopTheme = watchTheme(() => {
      this.#canvas?.refresh()
      this.schedule()
    })
    const timer = setInterval(() => this.#passTime(), 250)
    measure()
    return () => {
      observer.disconnect()
      elements.scroller.removeEventListener('scroll', onScroll)
      stopStore()
      stopTheme()
      clearInterval(timer)
      clearTimeout(this.#settle)
      cancelAnimationFrame(this.#frame)
      this.#frame = 0
      this.#elements = null
    }
  }

  schedule(overlayOnly = false): void {
    if (!overlayOnly) this.#wholePainting = true
    if (this.#frame === 0 && this.#elements) this.#frame = requestAnimationFrame(() => this.#paint())
  }

  select(ref: TimelineRef | null): void {
    if (isSameRef(ref, this.model.selection)) return
    this.model.selection = ref
    this.model.held = ref === null ? null : (placeOf(this.model.store, ref)?.time ?? null)
    this.schedule()
  }

  scrollTo(top: number): void {
    this.#elements?.scroller.scrollTo({ top })
  }

  /** Brings a lane into view. */
  revealLane(lane: string): void {
    const row = this.model.rows().byLane.get(lane)
    if (!row) return
    const room = this.model.height - this.model.header
    if (row.y < this.model.top) this.scrollTo(row.y)
    else if (row.y + row.height > this.model.top + room) this.scrollTo(row.y + row.height - room)
  }

  hitAt(x: number, y: number): Hit {
    const canvas = this.#canvas
    const brush = canvas?.brush()
    const context = this.#elements?.canvases.get('bars')?.getContext('2d')
    const callWidth = ({ columns }: LaneRow, index: number) => {
      const call = columns.calls.rows[index]
      const label = `${call?.tool ?? ''} ${call?.target ?? ''}`.trim()
      return brush && context ? Math.min(220, brush.text.width(context, label) + 6) : 60
    }
    return hitTest(this.model.frame(), { x, y }, { links: canvas?.links ?? { paths: [], pills: [] }, callWidth })
  }

  hoverAt(point: { x: number; y: number } | null): Hit | null {
    const hit = point ? this.hitAt(point.x, point.y) : null
    const ref = hit?.ref ?? null
    if (!isSameRef(ref, this.model.hover)) {
      this.model.hover = ref
      this.schedule(true)
    }
    const text = hit ? tooltipText(this.model.frame(), hit) : null
    this.setTooltip(text && point ? { ...text, ...point } : null)
    return hit
  }

  setTooltip(tooltip: Chrome['tooltip']): void {
    if (this.chrome.tooltip?.title === tooltip?.title && this.chrome.tooltip?.note === tooltip?.note) return
    this.#setChrome({ tooltip })
  }

  /** Selects a span of pixels and shows its totals; `null` clears it. */
  selectSpan(pixels: { from: number; to: number } | null): void {
    const scale = this.model.scale()
    if (pixels === null) this.#span = null
    else {
      const [from, to] = [pixels.from, pixels.to].sort((a, b) => a - b)
      this.#span = { from: scale.time(from ?? 0), to: scale.time(to ?? 0) }
    }
    const span = this.#span
    const totals = span ? { ...spanTotals(this.model.store, span.from, span.to), x: scale.x(span.to) } : null
    this.#setChrome({ totals })
    this.schedule(true)
  }

  #passTime(): void {
    if (!this.model.live || document.hidden) return
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches
    const second = Math.floor(performance.now() / 1000)
    // A second of a young run is wider than the air before the right edge.
    const isFast = !still && this.model.scale().view.k * 1000 > 16
    if (second !== this.#second || isFast) this.model.tick()
    else if (!still) this.schedule()
    this.#second = second
  }
  #second = 0

  #paint(): void {
    this.#frame = 0
    const elements = this.#elements
    if (!elements || !this.#canvas || this.model.width <= 0) return
    const whole = this.#wholePainting
    this.#wholePainting = false
    const frame = this.model.frame()
    this.#canvas.paint(frame, { span: this.#span, connected: this.connected }, !whole)
    if (!this.#painted) performance.mark('lanes-painted')
    this.#painted = true
    if (this.#labelTop !== this.model.top) elements.labels.style.transform = `translateY(${-this.model.top}px)`
    this.#labelTop = this.model.top
    if (!whole) return
    this.#minimap?.paint(frame, this.#canvas.brush(), this.#minimapWidth)
    this.#updateChrome(frame.rows)
    clearTimeout(this.#settle)
    this.#settle = setTimeout(() => this.#settled(), SETTLE_MS)
  }

  #settled(): void {
    const { top } = this.model
    if (this.model.settle() && this.model.top !== top) this.scrollTo(this.model.top)
    const scale = this.model.scale()
    const range = [Math.round(scale.time(0)), Math.round(scale.time(this.model.width))] as [number, number]
    this.onRange?.(this.model.automatic ? null : range)
  }

  #updateChrome(rows: LaneRows): void {
    const { model, chrome } = this
    const to = model.top + model.height - model.header
    const [first, last] = [chrome.labels[0], chrome.labels.at(-1)]
    const covers =
      first !== undefined &&
      last !== undefined &&
      (first.y <= model.top || first === rows.labels[0]) &&
      (last.y + last.height >= to || last === rows.labels.at(-1))
    // The labels are rendered again when the view leaves those that are there, not with every lane.
    const sameLabels = this.#labelRows === rows && covers
    const labels = sameLabels ? chrome.labels : rowsBetween(rows.labels, { from: model.top, to, margin: LABEL_MARGIN })
    this.#labelRows = rows
    const { seq } = model.store
    if (model.follows || this.#seenSeq === 0) this.#seenSeq = seq
    const next: Chrome = {
      ...chrome,
      level: model.level,
      follows: model.follows && model.playhead === null,
      live: model.live,
      collapsesGaps: model.collapsesGaps,
      labels,
      header: model.header,
      contentHeight: rows.height + model.header,
      areaHeight: model.header + 1 + fullHeight(rows, model.level),
      unseen: model.live ? seq - this.#seenSeq : 0,
    }
    const keys = Object.keys(next) as (keyof Chrome)[]
    if (keys.some((key) => next[key] !== chrome[key])) this.#setChrome(next)
  }

  #setChrome(change: Partial<Chrome>): void {
    this.chrome = { ...this.chrome, ...change }
    for (const listener of [...this.#listeners]) listener()
  }
}
