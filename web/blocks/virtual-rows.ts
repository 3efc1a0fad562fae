import type { RefObject, UIEvent } from 'react'
import { useCallback, useEffect, useState } from 'react'

/** The rows to draw of a long list whose rows all have the same height. */
export interface VirtualRows {
  first: number
  /** After the last row to draw. */
  end: number
  /** Heights of what is left out above and below. */
  above: number
  below: number
  onScroll(event: UIEvent<HTMLElement>): void
}

/** Rows drawn beyond the visible ones, so that scrolling by keys shows no gap. */
const MARGIN_ROWS = 12

interface VirtualRowsOptions {
  count: number
  rowHeight: number
  scroller: RefObject<HTMLElement | null>
}

export function visibleRange(top: number, height: number, options: { count: number; rowHeight: number }) {
  const { count, rowHeight } = options
  const first = Math.min(Math.max(0, Math.floor(top / rowHeight) - MARGIN_ROWS), Math.max(0, count - 1))
  const end = Math.min(count, Math.ceil((top + height) / rowHeight) + MARGIN_ROWS)
  return { first, end: Math.max(first, end), above: first * rowHeight, below: Math.max(0, count - end) * rowHeight }
}

export function useVirtualRows({ count, rowHeight, scroller }: VirtualRowsOptions): VirtualRows {
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  useEffect(() => {
    const element = scroller.current
    if (!element) return
    const observer = new ResizeObserver(() => setHeight(element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [scroller])
  const onScroll = useCallback(
    (event: UIEvent<HTMLElement>) => {
      // Whole rows only: a pixel more needs no new picture.
      setTop(Math.floor(event.currentTarget.scrollTop / rowHeight) * rowHeight)
    },
    [rowHeight],
  )
  return { ...visibleRange(top, height, { count, rowHeight }), onScroll }
}
