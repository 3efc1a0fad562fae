import { useSyncExternalStore } from 'react'

/* Messages for screen readers: at most one in 5 s; of those that came meanwhile, the last ones are told together. What a key did is told at once. */

const INTERVAL_MS = 5000
const MAX_WAITING = 3
let message = ''
let waiting: string[] = []
let lastAt = Number.NEGATIVE_INFINITY
let timer: ReturnType<typeof setTimeout> | undefined
const NOTE_MS = 2000
let note = ''
let noteTimer: ReturnType<typeof setTimeout> | undefined
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

/** Shows and tells for a moment what the reader has just done, where nothing else on the page changes. */
export function showStatus(text: string): void {
  clearTimeout(noteTimer)
  note = text
  announceNow(text)
  noteTimer = setTimeout(() => {
    note = ''
    // The same text again is news again.
    announceNow(message === text ? '' : message)
  }, NOTE_MS)
}

function speak(): void {
  timer = undefined
  lastAt = performance.now()
  const text = waiting.join('. ')
  waiting = []
  announceNow(text)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function LiveRegion() {
  const text = useSyncExternalStore(subscribe, () => message)
  const shown = useSyncExternalStore(subscribe, () => note)
  return (
    <>
      <div className="visually-hidden" role="status" aria-live="polite">
        {text}
      </div>
      {shown === '' ? null : (
        <div className="status-note" aria-hidden="true">
          {shown}
        </div>
      )}
    </>
  )
}
