import { useCallback, useEffect, useRef, useState } from 'react'
import type { LanesController } from './lanes-controller.ts'
import { advance } from './replay.ts'

export interface ReplayControls {
  /** The event that is shown; `null` is now. */
  seq: number | null
  speed: number
  playing: boolean
  show: (seq: number | null) => void
  toggle: () => void
  setSpeed: (speed: number) => void
}

interface ReplayProps {
  controller: LanesController
  seq: number | null
  onReplay: (seq: number | null) => void
}

/** Moves the playhead while the replay plays, at most once per frame. */
export function useReplay({ controller, seq, onReplay }: ReplayProps): ReplayControls {
  const [playing, setPlaying] = useState(false)
  const [speed, setSpeed] = useState(8)
  const { model } = controller
  const latest = useRef({ speed, onReplay, seq })
  latest.current = { speed, onReplay, seq }

  useEffect(() => {
    if (!playing) model.playhead = seq === null ? null : model.store.timeOf(seq)
    controller.schedule()
  }, [seq, playing, model, controller])

  useEffect(() => {
    if (!playing) return
    let frame = 0
    let before = performance.now()
    let time = latest.current.seq === null ? model.start : model.store.timeOf(latest.current.seq)
    const play = (at: number) => {
      const end = model.end
      const elapsed = Math.min(250, at - before)
      const next = advance(time, { elapsed, speed: latest.current.speed, idle: model.idle(), end })
      before = at
      if (next === null) {
        latest.current.onReplay(null)
        setPlaying(false)
        return
      }
      time = next
      model.playhead = time
      const shown = model.store.seqAt(time)
      if (shown !== latest.current.seq) latest.current.onReplay(shown)
      model.keepInView(time)
      controller.schedule()
      frame = requestAnimationFrame(play)
    }
    frame = requestAnimationFrame(play)
    return () => cancelAnimationFrame(frame)
  }, [playing, model, controller])

  const show = useCallback((next: number | null) => {
    setPlaying(false)
    latest.current.onReplay(next)
  }, [])
  const toggle = useCallback(() => setPlaying((before) => !before), [])
  return { seq, speed, playing, show, toggle, setSpeed }
}
