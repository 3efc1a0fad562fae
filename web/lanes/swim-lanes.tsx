import type { ReactNode } from 'react'
import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { TimelineStore } from '../data/timeline-store.ts'
import { Button } from '../design/controls.tsx'
import { formatCount, formatCountOf, formatDuration, formatTokens, formatUsd } from '../design/format.ts'
import { LaneLabels } from './lane-labels.tsx'
import { placeOf } from './lane-navigation.ts'
import type { CanvasName } from './lanes-canvas.ts'
import type { Chrome } from './lanes-controller.ts'
import { LanesController } from './lanes-controller.ts'
import { LanesToolbar } from './lanes-toolbar.tsx'
import { attachPointer } from './pointer-input.ts'
import { Transport } from './transport.tsx'
import { useLaneKeys } from './use-lane-keys.ts'
import { useReplay } from './use-replay.ts'

/* The swimlanes of a run. The canvases are hidden from assistive technology: the table beside them has the same content and selection. */

export interface SwimLanesProps {
  store: TimelineStore
  selection: TimelineRef | null
  onSelect: (ref: TimelineRef | null) => void
  /** The event that is shown; `null` is now. */
  replaySeq: number | null
  onReplay: (seq: number | null) => void
  /** The time range in view; `null` follows now or shows the whole run. */
  range: readonly [from: number, to: number] | null
  onRange: (range: [from: number, to: number] | null) => void
  now: () => number
  /** `false` while the stream is interrupted: the now line is grey. */
  connected?: boolean
  /** More controls for the toolbar, such as the switch to the table. */
  toolbar?: ReactNode
}

const LAYERS: readonly CanvasName[] = ['ground', 'links', 'bars', 'overlay']

export function SwimLanes(props: SwimLanesProps) {
  const { store, selection, onSelect, connected = true } = props
  const latest = useRef(props)
  latest.current = props
  const [controller] = useState(() => new LanesController(store, () => latest.current.now()))
  const chrome = useSyncExternalStore(controller.subscribe, () => controller.chrome)
  useSyncExternalStore(store.subscribe, () => store.version)
  const scroller = useRef<HTMLDivElement>(null)
  const labels = useRef<HTMLDivElement>(null)
  const plot = useRef<HTMLDivElement>(null)
  const minimap = useRef<HTMLCanvasElement>(null)
  const replay = useReplay({ controller, seq: props.replaySeq, onReplay: props.onReplay })
  useLaneKeys({ controller, replay, selection, onSelect, scroller })
  useRange(controller, props)

  useEffect(() => {
    if (!scroller.current || !labels.current || !plot.current || !minimap.current) return
    const found = [...plot.current.querySelectorAll('canvas')]
    const canvases = new Map(LAYERS.flatMap((name, index) => (found[index] ? [[name, found[index]] as const] : [])))
    const stops = [
      controller.mount({ scroller: scroller.current, labels: labels.current, canvases, minimap: minimap.current }),
      attachPointer(plot.current, { controller, onSelect: (ref) => latest.current.onSelect(ref) }),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }, [controller])

  useEffect(() => {
    controller.connected = connected
    controller.schedule()
    controller.select(selection)
    revealSelection(controller, selection)
  }, [controller, selection, connected])

  const moment = store.at(props.replaySeq)
  const missing = chrome.live ? 'Waiting for the first model response.' : 'The run ended before a model responded.'
  return (
    <section className="swim-lanes" aria-label="Swimlanes">
      <LanesToolbar {...{ controller, chrome }} extra={props.toolbar} />
      <div className="lanes-frame">
        <i className="lanes-corner" style={{ top: chrome.header - 1 }} />
        <div
          ref={scroller}
          className="lanes-scroller"
          role="application"
          aria-label="Lanes: arrow keys move between turns, Enter opens calls"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys work while it has the focus, and it scrolls.
          tabIndex={0}
          style={{ height: chrome.areaHeight }}
        >
          <div className="lanes-content" style={{ height: chrome.contentHeight }}>
            <div className="lanes-window">
              <div className="lanes-labels" aria-hidden="true" style={{ marginTop: chrome.header }}>
                <div ref={labels} className="lanes-label-list">
                  <LaneLabels {...{ moment, selection, onSelect }} labels={chrome.labels} level={chrome.level} />
                </div>
              </div>
              <div ref={plot} className="lanes-plot" aria-hidden="true">
                {LAYERS.map((name) => (
                  <canvas key={name} />
                ))}
                <LaneTooltip chrome={chrome} {...{ width: controller.model.width, height: controller.model.height }} />
              </div>
            </div>
          </div>
        </div>
        {chrome.live && !chrome.follows && chrome.unseen > 0 ? (
          <Button kind="primary" className="lanes-unseen" onClick={() => controller.model.toggleFollow(true)}>
            {formatCount(chrome.unseen)} new, go to now
          </Button>
        ) : null}
        {store.rows('turns').length === 0 ? <p className="lanes-empty">{missing}</p> : null}
      </div>
      <Transport {...{ controller, replay, minimap }} />
    </section>
  )
}

function revealSelection(controller: LanesController, selection: TimelineRef | null): void {
  const { model } = controller
  const place = selection === null ? null : placeOf(model.store, selection)
  if (!place || model.width === 0) return
  controller.revealLane(place.lane.lane.id)
  if (selection?.kind !== 'agent') model.reveal(place.time, place.time)
}

function useRange(controller: LanesController, { range, onRange }: SwimLanesProps): void {
  const reported = useRef<string | undefined>(range?.join())
  const [shown] = useState({ range: '' })
  useEffect(() => {
    controller.onRange = (next) => {
      if (next?.join() === reported.current) return
      reported.current = next?.join()
      shown.range = reported.current ?? ''
      onRange(next)
    }
  }, [controller, onRange, shown])
  useEffect(() => {
    if (range === null || range.join() === shown.range) return
    shown.range = range.join()
    controller.model.showRange(range[0], range[1])
  }, [controller, range, shown])
}

/** Beside the pointer, and always inside the plot. */
function LaneTooltip({
  chrome: { tooltip, totals },
  width,
  height,
}: {
  chrome: Chrome
  width: number
  height: number
}) {
  const across = (x: number) => Math.round((Math.min(Math.max(x, 0), width) / Math.max(1, width)) * 100)
  if (totals) {
    const cost = `${formatTokens(totals.tokens)} tokens, ${totals.partial ? 'at least ' : ''}${formatUsd(totals.usd)}`
    const failed = totals.failed > 0 ? `, ${totals.failed} failed` : ''
    return (
      <div
        className="lanes-tooltip"
        style={{ left: `${across(totals.x)}%`, top: 52, transform: `translateX(-${across(totals.x)}%)` }}
      >
        <b>{formatDuration(totals.ms)}</b>
        <span>{`${formatCountOf(totals.turns, 'turn')}, ${formatCountOf(totals.calls, 'call')}${failed}, ${cost}`}</span>
      </div>
    )
  }
  if (!tooltip) return null
  const share = across(tooltip.x)
  const below = tooltip.y < height - 80
  const transform = `translate(-${share}%, ${below ? '18px' : 'calc(-100% - 10px)'})`
  return (
    <div className="lanes-tooltip" style={{ left: `${share}%`, top: tooltip.y, transform }}>
      <b>{tooltip.title}</b>
      <span>{tooltip.note}</span>
    </div>
  )
}
