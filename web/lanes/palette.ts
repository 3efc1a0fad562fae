/* Colours of the canvases, from the tokens of the style sheet. A canvas cannot use `var()` or `light-dark()`: a hidden element resolves them. */

const TOKENS = [
  'bg',
  'surface',
  'raised',
  'sunken',
  'hover',
  'line',
  'line-2',
  'line-3',
  'text',
  'text-2',
  'text-3',
  'ink',
  'accent',
  'accent-fill',
  'on-accent',
  'accent-tint',
  'running',
  'waiting',
  'waiting-tint',
  'completed',
  'failed',
  'failed-tint',
  'cancelled',
  'stalled',
  'stalled-tint',
] as const

export type Token = (typeof TOKENS)[number]

export interface LaneTint {
  solid: string
  fill: string
  edge: string
}

export interface Palette {
  readonly colours: Readonly<Record<Token, string>>
  readonly lanes: readonly LaneTint[]
  readonly font: string
}

export const LANE_COLOURS = 12

export function readPalette(element: HTMLElement): Palette {
  const probe = document.createElement('span')
  probe.hidden = true
  element.append(probe)
  const resolve = (value: string) => {
    probe.style.color = value
    return getComputedStyle(probe).color
  }
  const colours = Object.fromEntries(TOKENS.map((name) => [name, resolve(`var(--${name})`)])) as Record<Token, string>
  const mix = (lane: string, share: string) => resolve(`color-mix(in srgb, ${lane} ${share}, var(--surface))`)
  const lanes = Array.from({ length: LANE_COLOURS }, (_, index) => {
    const lane = `var(--lane-${index + 1})`
    return { solid: resolve(lane), fill: mix(lane, 'var(--lane-fill)'), edge: mix(lane, 'var(--lane-edge)') }
  })
  probe.style.fontFamily = 'var(--font)'
  const font = getComputedStyle(probe).fontFamily
  probe.remove()
  return { colours, lanes, font }
}

/** Order of appearance decides the colour; the 13th lane has the colour of the first. */
export function laneTint(palette: Palette, index: number): LaneTint {
  return palette.lanes[index % LANE_COLOURS] ?? { solid: '#888', fill: '#eee', edge: '#999' }
}

/** Calls `listener` when the theme or the contrast changes. */
export function watchTheme(listener: () => void): () => void {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme', 'class', 'style'] })
  const queries = ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)']
  const lists = queries.map((query) => matchMedia(query))
  for (const list of lists) list.addEventListener('change', listener)
  return () => {
    observer.disconnect()
    for (const list of lists) list.removeEventListener('change', listener)
  }
}
