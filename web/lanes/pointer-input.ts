import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { LanesController } from './lanes-controller.ts'

/*
 * The pointer on the lanes: the wheel scrolls, Ctrl and wheel or two fingers zoom, a drag pans, Shift and drag selects a span, a click selects.
 */

const CLICK = 4

export interface PointerOptions {
  controller: LanesController
  onSelect: (ref: TimelineRef | null) => void
}

interface Drag {
  id: number
  x: number
  y: number
  top: number
  moved: boolean
  span: boolean
}

export function attachPointer(plot: HTMLElement, { controller, onSelect }: PointerOptions): () => void {
  const { model } = controller
  const fingers = new Map<number, { x: number; y: number }>()
  let drag: Drag | null = null
  let pinch: { distance: number; x: number } | null = null
  const place = (event: MouseEvent) => {
    const box = plot.getBoundingClientRect()
    return { x: event.clientX - box.left, y: event.clientY - box.top }
  }
  const wheel = (event: WheelEvent) => {
    const unit = event.deltaMode === 1 ? 16 : 1
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault()
      const step = Math.max(-60, Math.min(60, event.deltaY * unit))
      model.zoom(place(event).x, Math.exp(-step * 0.008))
      return
    }
    const across = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX
    if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault()
      model.pan(across * unit)
    }
  }
  const down = (event: PointerEvent) => {
    if (event.button !== 0) return
    const point = place(event)
    fingers.set(event.pointerId, point)
    plot.setPointerCapture(event.pointerId)
    controller.setTooltip(null)
    if (fingers.size === 2) {
      pinch = pinchOf(fingers)
      drag = null
      return
    }
    drag = { id: event.pointerId, ...point, top: model.top, moved: false, span: event.shiftKey }
    if (!event.shiftKey) controller.selectSpan(null)
  }
  const move = (event: PointerEvent) => {
    const point = place(event)
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, point)
    if (pinch && fingers.size === 2) {
      const next = pinchOf(fingers)
      model.zoom(next.x, next.distance / pinch.distance)
      model.pan(pinch.x - next.x)
      pinch = next
    } else if (drag && drag.id === event.pointerId) dragTo(point, event.pointerType)
    else if (event.pointerType !== 'touch') {
      const hit = controller.hoverAt(point)
      plot.style.cursor = hit?.ref || hit?.gap ? 'pointer' : ''
    }
  }
  const dragTo = (point: { x: number; y: number }, kind: string) => {
    if (!drag) return
    const far = Math.abs(point.x - drag.x) + Math.abs(point.y - drag.y) > CLICK
    if (!drag.moved && !far) return
    if (!drag.moved) plot.style.cursor = drag.span ? 'col-resize' : 'grabbing'
    if (drag.span) {
      drag.moved = true
      controller.selectSpan({ from: drag.x, to: point.x })
      return
    }
    model.pan(drag.x - point.x)
    if (kind !== 'touch') controller.scrollTo(model.top - (point.y - drag.y))
    drag = { ...drag, ...point, moved: true }
  }
  const up = (event: PointerEvent) => {
    const clicked = drag && !drag.moved && drag.id === event.pointerId && fingers.size === 1
    fingers.delete(event.pointerId)
    if (fingers.size < 2) pinch = null
    drag = null
    plot.style.cursor = ''
    if (!clicked) return
    const { x, y } = place(event)
    const hit = controller.hitAt(x, y)
    if (hit.gap && hit.ref === null) model.expandGap(hit.gap.from)
    else onSelect(hit.ref)
  }
  const cancel = (event: PointerEvent) => {
    fingers.delete(event.pointerId)
    pinch = null
    drag = null
  }
  const leave = () => controller.hoverAt(null)
  plot.addEventListener('wheel', wheel, { passive: false })
  plot.addEventListener('pointerdown', down)
  plot.addEventListener('pointermove', move)
  plot.addEventListener('pointerup', up)
  plot.addEventListener('pointercancel', cancel)
  plot.addEventListener('pointerleave', leave)
  return () => {
    plot.removeEventListener('wheel', wheel)
    plot.removeEventListener('pointerdown', down)
    plot.removeEventListener('pointermove', move)
    plot.removeEventListener('pointerup', up)
    plot.removeEventListener('pointercancel', cancel)
    plot.removeEventListener('pointerleave', leave)
  }
}

function pinchOf(fingers: ReadonlyMap<number, { x: number; y: number }>): { distance: number; x: number } {
  const [a = { x: 0, y: 0 }, b = { x: 1, y: 0 }] = [...fingers.values()]
  return { distance: Math.max(10, Math.hypot(a.x - b.x, a.y - b.y)), x: (a.x + b.x) / 2 }
}
