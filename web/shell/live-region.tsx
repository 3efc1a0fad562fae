import { useSyncExternalStore } from 'react'

/* Messages for screen readers: at most one in 5 s; of those that came meanwhile, the last ones are told together. What a key did is told at once. */

const INTERVAL_MS = 5000
const MAX_WAITING = 3
let message = ''
let waiting: string[] = []
let lastAt = Number.NEGATIVE_INFINITY
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

export function announce(text: string): void {
  if (waiting.at(-1) === text) return
  waiting = [...waiting, text].slice(-MAX_WAITING)
  if (timer !== undefined) return
  timer = setTimeout(speak, Math.max(0, lastAt + INTERVAL_MS - performance.now()))
}

/** Tells what the reader has just done; news that wait stay in their turn. */
export function announceNow(text: string): void {
  message = text
  for (const listener of listeners) listener()
}

function speak(): void {
  timer = undefined
  lastAt = performance.now()
  const text = waiting.join('. ')
  waiting = []
  announceNow(text)
}

export function LiveRegion() {
  const text = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => message,
  )
  return (
    <div className="visually-hidden" role="status" aria-live="polite">
      {text}
    </div>
  )
}
