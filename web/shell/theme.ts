import { useSyncExternalStore } from 'react'

/* Light or dark: the choice of the person, which is remembered, or that of the system. */

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'troupe-theme'
const ORDER: readonly Theme[] = ['system', 'light', 'dark']
const listeners = new Set<() => void>()
let theme: Theme = 'system'

/** Applies the remembered choice; called before the first paint. */
export function restoreTheme(): void {
  theme = ORDER.find((known) => known === readChoice()) ?? 'system'
  applyTheme()
}

export function setTheme(next: Theme): void {
  theme = next
  applyTheme()
  try {
    if (next === 'system') window.localStorage.removeItem(KEY)
    else window.localStorage.setItem(KEY, next)
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  for (const listener of listeners) listener()
}

/** The next theme that looks different from the current one; after both, back to the system. */
export function nextTheme(current: Theme): Theme {
  const systemIsDark = window.matchMedia('(prefers-color-scheme: dark)').matches
  if (current === 'system') return systemIsDark ? 'light' : 'dark'
  const opposite = systemIsDark ? 'light' : 'dark'
  return current === opposite ? (systemIsDark ? 'dark' : 'light') : 'system'
}

export function useTheme(): Theme {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => theme,
  )
}

function applyTheme(): void {
  const root = document.documentElement
  if (theme === 'system') root.removeAttribute('data-theme')
  else root.setAttribute('data-theme', theme)
}

function readChoice(): string | null {
  try {
    return window.localStorage.getItem(KEY)
  } catch {
    return null
  }
}
