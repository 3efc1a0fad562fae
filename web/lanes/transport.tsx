import type { KeyboardEvent, PointerEvent, RefObject } from 'react'
import { useRef } from 'react'
import { Button, IconButton } from '../design/controls.tsx'
import { formatTime } from '../design/format.ts'
import type { LanesController } from './lanes-controller.ts'
import { minimapScale } from './paint-minimap.ts'
import { stepSeq } from './replay.ts'
import type { ReplayControls } from './use-replay.ts'

/* The strip below the lanes: replay controls, and the minimap, which is a slider of the time in the run. */

interface TransportProps {
  controller: LanesController
  replay: ReplayControls
  minimap: RefObject<HTMLCanvasElement | null>
}

export function Transport({ controller, replay, minimap }: TransportProps) {
  const { store } = controller.model
  const { seq, speed, playing } = replay
  return (
    <div className="transport">
      <div className="transport-controls">
        <IconButton icon="step-back" label="One event back" onClick={() => replay.show(stepSeq(store, seq, -1))} />
        <IconButton
          icon={playing ? 'pause' : 'play'}
          label={playing ? 'Pause the replay (Space)' : 'Replay (Space)'}
          onClick={replay.toggle}
        />
        <IconButton icon="step-forward" label="One event forward" onClick={() => replay.show(stepSeq(store, seq, 1))} />
        <button
          type="button"
          className="transport-speed"
          title="Speed (< >)"
          onClick={() => replay.setSpeed(speed === 64 ? 1 : speed * 2)}
        >
          {seq === null && controller.model.live ? `Live · ${speed}×` : `${speed}×`}
        </button>
      </div>
      <Minimap {...{ controller, replay, minimap }} />
      {seq === null ? null : (
        <div className="transport-live">
          <span>{`Replaying ${formatTime(store.timeOf(seq))}, ${speed}×`}</span>
          <Button kind="primary" onClick={() => replay.show(null)}>
            {controller.model.live ? 'Back to live' : 'Back to the end'}
          </Button>
        </div>
      )}
    </div>
  )
}

type Grab = { part: 'left' | 'right' | 'window' | 'playhead'; x: number; moved: boolean }

function Minimap({ controller, replay, minimap }: TransportProps) {
  const grab = useRef<Grab | null>(null)
  const { model } = controller
  const { store } = model
  const time = replay.seq === null ? model.end : store.timeOf(replay.seq)
  const scaleHere = () => minimapScale(model.frame(), minimap.current?.clientWidth ?? 1)
  const down = (event: PointerEvent<HTMLCanvasElement>) => {
    const x = event.nativeEvent.offsetX
    const scale = scaleHere()
    const left = scale.x(model.scale().time(0))
    const right = scale.x(model.scale().time(model.width))
    const part =
      Math.abs(x - left) < 7
        ? 'left'
        : Math.abs(x - right) < 7
          ? 'right'
          : x > left && x < right
            ? 'window'
            : 'playhead'
    grab.current = { part, x, moved: false }
    event.currentTarget.setPointerCapture(event.pointerId)
  }
  const move = (event: PointerEvent<HTMLCanvasElement>) => {
    const held = grab.current
    if (!held) return
    const x = event.nativeEvent.offsetX
    if (!held.moved && Math.abs(x - held.x) < 3) return
    const scale = scaleHere()
    const from = model.scale().time(0)
    const to = model.scale().time(model.width)
    if (held.part === 'left') model.showRange(Math.min(scale.time(x), to - 1000), to)
    else if (held.part === 'right') model.showRange(from, Math.max(scale.time(x), from + 1000))
    else if (held.part === 'window') model.pan(model.scale().x(from + (scale.time(x) - scale.time(held.x))))
    else replay.show(seqOf(x))
    grab.current = { ...held, x, moved: true }
  }
  const up = (event: PointerEvent<HTMLCanvasElement>) => {
    if (grab.current && !grab.current.moved) replay.show(seqOf(event.nativeEvent.offsetX))
    grab.current = null
  }
  const seqOf = (x: number) => {
    const seq = store.seqAt(scaleHere().time(x))
    return seq >= store.seq ? null : seq
  }
  const key = (event: KeyboardEvent<HTMLCanvasElement>) => {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: 10, PageDown: -10 }
    const count = steps[event.key]
    if (event.key === 'Home') replay.show(1)
    else if (event.key === 'End') replay.show(null)
    else if (count !== undefined) {
      const wanted = (replay.seq ?? store.seq) + count
      replay.show(wanted >= store.seq ? null : Math.max(1, wanted))
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <canvas
      ref={minimap}
      className="minimap"
      role="slider"
      tabIndex={0}
      aria-label="Time in the run"
      aria-valuemin={1}
      aria-valuemax={Math.max(1, store.seq)}
      aria-valuenow={replay.seq ?? store.seq}
      aria-valuetext={`${formatTime(time)}${replay.seq === null ? (model.live ? ', live' : ', end of the run') : ''}`}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={up}
      onPointerCancel={() => {
        grab.current = null
      }}
      onKeyDown={key}
    />
  )
}
