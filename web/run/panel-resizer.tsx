import type { KeyboardEvent, PointerEvent, ReactNode } from 'react'

const NARROWEST = 320
const WIDEST = 640
const STEP = 20

/** The left edge of the detail panel: dragged, or moved with the arrow keys. */
export function PanelResizer({ width, onWidth }: { width: number; onWidth(width: number): void }): ReactNode {
  const change = (next: number) => onWidth(Math.min(WIDEST, Math.max(NARROWEST, Math.round(next))))
  const onPointerDown = (event: PointerEvent<HTMLElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId)
    event.preventDefault()
  }
  const onPointerMove = (event: PointerEvent<HTMLElement>) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return
    const right = event.currentTarget.parentElement?.getBoundingClientRect().right ?? window.innerWidth
    change(right - event.clientX)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowLeft' ? STEP : event.key === 'ArrowRight' ? -STEP : 0
    if (step === 0) return
    event.preventDefault()
    event.stopPropagation()
    change(width + step)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: an hr cannot be moved
    <div
      className="panel-resizer"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the detail"
      aria-valuemin={NARROWEST}
      aria-valuemax={WIDEST}
      aria-valuenow={width}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onKeyDown={onKeyDown}
    />
  )
}
