import { useEffect, useLayoutEffect, useRef } from 'react'

/*
 * Keys of the whole page.
 * 1. Keys do nothing while a text field has the focus or a dialog is open, except those marked `inFields`.
 * 2. A key of two strokes (`g r`) waits 1.5 s for the second one.
 * 3. Of two bindings of the same key, that of a page wins over that of the frame, then the one that was added last.
 */

export interface KeyBinding {
  /** As in `KeyboardEvent.key`, such as `j`, `Enter`, `?`, or two strokes: `g r`. */
  keys: string
  /** What it does, for the list of all keys. */
  label: string
  /** Returns `false` if the key meant something else here. */
  run: (event: KeyboardEvent) => unknown
  inFields?: boolean
}

export interface KeySection {
  title: string
  bindings: readonly KeyBinding[]
  layer: 'frame' | 'page'
}

const sections: { current: KeySection }[] = []
const STROKE_MS = 1500
let firstStroke: { key: string; at: number } | null = null

/** Binds keys while the component is there. */
export function useKeys(title: string, bindings: readonly KeyBinding[], layer: KeySection['layer'] = 'page'): void {
  const section = useRef<KeySection>({ title, bindings, layer })
  useLayoutEffect(() => {
    section.current = { title, bindings, layer }
  })
  useEffect(() => {
    if (sections.length === 0) window.addEventListener('keydown', handleKey)
    sections.push(section)
    return () => {
      sections.splice(sections.indexOf(section), 1)
      if (sections.length === 0) window.removeEventListener('keydown', handleKey)
    }
  }, [])
}

/** All keys that work now, by section; those of the frame that the page uses for something else do not. */
export function activeKeys(): Omit<KeySection, 'layer'>[] {
  const byTitle = new Map<string, KeyBinding[]>()
  const all = sections.map(({ current }) => current)
  const ofPage = new Set(
    all.flatMap(({ layer, bindings }) => (layer === 'page' ? bindings : [])).map(({ keys }) => keys),
  )
  for (const { title, layer, bindings } of all) {
    const active = bindings.filter(({ keys }) => layer === 'page' || !ofPage.has(keys))
    byTitle.set(title, [...(byTitle.get(title) ?? []), ...active])
  }
  return [...byTitle].map(([title, bindings]) => ({ title, bindings }))
}

function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
  const held = document.querySelector('dialog[open]') !== null || isTextField(event.target)
  const now = event.timeStamp
  const prefix = firstStroke !== null && now - firstStroke.at < STROKE_MS ? firstStroke.key : null
  firstStroke = null
  const stroke = event.key
  const newest = [...sections].reverse().map(({ current }) => current)
  const candidates = [...newest.filter(({ layer }) => layer === 'page'), ...newest].flatMap(({ bindings }) => bindings)
  const usable = candidates.filter(({ inFields = false }) => inFields || !held)
  const wanted = prefix === null ? stroke : `${prefix} ${stroke}`
  for (const binding of usable) {
    if (binding.keys !== wanted || binding.run(event) === false) continue
    event.preventDefault()
    return
  }
  if (prefix === null && usable.some(({ keys }) => keys.startsWith(`${stroke} `)))
    firstStroke = { key: stroke, at: now }
}

export function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !/^(button|checkbox|radio|range|submit)$/.test(target.type)
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable
}
