import type { RefObject } from 'react'
import { useEffect, useRef } from 'react'
import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { LaneAction } from './lane-keys.ts'
import { laneAction } from './lane-keys.ts'
import {
  neighbourDelegation,
  neighbourInLane,
  neighbourLane,
  nextNeed,
  placeInside,
  placeOutside,
} from './lane-navigation.ts'
import type { LanesController } from './lanes-controller.ts'
import { nextSpeed } from './replay.ts'
import type { ReplayControls } from './use-replay.ts'

interface KeyProps {
  controller: LanesController
  replay: ReplayControls
  selection: TimelineRef | null
  onSelect: (ref: TimelineRef | null) => void
  scroller: RefObject<HTMLElement | null>
}

/** Listens on the whole page; text fields and other controls keep their keys. */
export function useLaneKeys(props: KeyProps): void {
  const latest = useRef(props)
  latest.current = props
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : null
      const { scroller } = latest.current
      const inLanes = target === document.body || target === scroller.current
      const inText = target?.closest('input, textarea, select, [contenteditable], dialog') !== null && target !== null
      const action = event.defaultPrevented ? null : laneAction({ ...keyOf(event), inLanes, inText })
      if (action === null) return
      event.preventDefault()
      perform(action, latest.current)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
}

function keyOf({ key, ctrlKey, metaKey, altKey }: KeyboardEvent) {
  return { key, ctrlKey, metaKey, altKey }
}

function perform(action: LaneAction, { controller, replay, selection, onSelect }: KeyProps): void {
  const { model } = controller
  const { store } = model
  const middle = model.follows ? model.width - 16 : model.width / 2
  const actions: Record<LaneAction, () => void> = {
    previous: () => onSelect(neighbourInLane(store, selection, -1)),
    next: () => onSelect(neighbourInLane(store, selection, 1)),
    'lane-up': () => onSelect(neighbourLane(store, selection, -1)),
    'lane-down': () => onSelect(neighbourLane(store, selection, 1)),
    inside: () => onSelect(placeInside(store, selection)),
    outside: () => onSelect(placeOutside(store, selection)),
    'previous-delegation': () => onSelect(neighbourDelegation(store, selection, -1)),
    'next-delegation': () => onSelect(neighbourDelegation(store, selection, 1)),
    'zoom-in': () => model.zoom(middle, 1.5),
    'zoom-out': () => model.zoom(middle, 1 / 1.5),
    fit: () => model.fit(),
    'level-1': () => model.showLevel(1),
    'level-2': () => model.showLevel(2),
    'level-3': () => model.showLevel(3),
    'level-4': () => model.showLevel(4),
    follow: () => model.toggleFollow(),
    gaps: () => model.toggleGaps(),
    need: () => onSelect(nextNeed(store, selection)),
    play: replay.toggle,
    slower: () => replay.setSpeed(nextSpeed(replay.speed, -1)),
    faster: () => replay.setSpeed(nextSpeed(replay.speed, 1)),
  }
  actions[action]()
}
