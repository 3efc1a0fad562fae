import type { RefObject } from 'react'
import { useEffect, useState } from 'react'

/*
 * Prevents clickjacking by layout: a button that moved under the pointer a moment ago does nothing.
 * 1. Locked until 500 ms have passed since the last change of the question, of the layout, of the size or of the focus of the window.
 * 2. Text that counts time is marked `data-ticking` and does not lock.
 * 3. Locked while a part of the question is marked `data-incomplete`: what is approved has been on the page.
 */

const LOCK_MS = 500

export interface DecisionLock {
  locked: boolean
  /** A part of the question is not shown yet. */
  incomplete: boolean
  /** Counts the locks, so that each one is shown from its beginning. */
  turn: number
}

export function useDecisionLock(content: RefObject<HTMLElement | null>, question: string): DecisionLock {
  const [state, setState] = useState<DecisionLock>({ locked: true, incomplete: false, turn: 0 })
  // biome-ignore lint/correctness/useExhaustiveDependencies: another question starts the wait again.
  useEffect(() => {
    const element = content.current
    let timer: ReturnType<typeof setTimeout> | undefined
    const lock = () => {
      clearTimeout(timer)
      const incomplete = content.current?.querySelector('[data-incomplete]') != null
      setState(({ turn }) => ({ locked: true, incomplete, turn: turn + 1 }))
      if (incomplete) return
      timer = setTimeout(() => setState(({ turn }) => ({ locked: false, incomplete, turn })), LOCK_MS)
    }
    lock()
    const size = new ResizeObserver(lock)
    const changes = new MutationObserver((records) => {
      if (records.some(({ target }) => !isTicking(target))) lock()
    })
    if (element !== null) {
      size.observe(element)
      changes.observe(element, { childList: true, subtree: true, characterData: true })
    }
    const events = ['resize', 'focus'] as const
    for (const event of events) window.addEventListener(event, lock)
    document.addEventListener('visibilitychange', lock)
    return () => {
      clearTimeout(timer)
      size.disconnect()
      changes.disconnect()
      for (const event of events) window.removeEventListener(event, lock)
      document.removeEventListener('visibilitychange', lock)
    }
  }, [content, question])
  return state
}

function isTicking(target: Node): boolean {
  const element = target instanceof Element ? target : target.parentElement
  return element?.closest('[data-ticking]') != null
}
