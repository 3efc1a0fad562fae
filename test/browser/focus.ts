import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/* Where the focus is, and whether a person sees it. */

export interface FocusStop {
  /** The role and the accessible name, such as `button Fit run`. */
  name: string
  /** Drawn around the element or around the field that it fills, in view and not transparent. */
  visible: boolean
  /** Different for every element of the page. */
  index: number
}

/** The element that has the focus; `null` for the page itself. */
export function focusStop(page: Page): Promise<FocusStop | null> {
  return page.evaluate<FocusStop | null>(`(() => {
    const element = document.activeElement
    if (element === null || element === document.body) return null
    const drawn = (each) => {
      if (each === null) return false
      const { boxShadow, outlineStyle, outlineWidth, outlineColor } = getComputedStyle(each)
      const outline = outlineStyle !== 'none' && parseFloat(outlineWidth) > 0 && !/, 0\\)$|^transparent$/.test(outlineColor)
      return boxShadow !== 'none' || outline
    }
    const { width, height, top, left } = element.getBoundingClientRect()
    const inView = width > 1 && height > 1 && top < innerHeight && left < innerWidth && top + height > 0 && left + width > 0
    const ring = element.matches(':focus-visible') && (drawn(element) || drawn(element.closest('form, .filter-field')))
    const label = element.getAttribute('aria-label') ?? element.getAttribute('title') ?? element.textContent ?? ''
    const role = element.getAttribute('role') ?? element.localName
    const name = role + ' ' + (element.textContent?.trim() || label).slice(0, 60)
    return { name: element.hasAttribute('aria-label') ? role + ' ' + label : name, visible: inView && ring, index: [...document.all].indexOf(element) }
  })()`)
}

/** Presses Tab from the start of the page until the focus is back there. */
async function tabThrough(page: Page): Promise<FocusStop[]> {
  const stops: FocusStop[] = []
  for (let press = 0; press < 200; press += 1) {
    await page.keyboard.press('Tab')
    const stop = await focusStop(page)
    if (stop === null || stop.index === stops[0]?.index) return stops
    if (stops.some(({ index }) => index === stop.index)) break
    stops.push(stop)
  }
  throw new Error(`Tab does not leave ${stops.at(-1)?.name}`)
}

/** All stops have a visible focus, and Tab comes back to the start after those that are named. */
export async function checkStops(page: Page, wanted: readonly string[]): Promise<void> {
  const stops = await tabThrough(page)
  expect(stops.filter(({ visible }) => !visible)).toEqual([])
  const names = stops.map(({ name }) => name)
  for (const start of wanted)
    expect(
      names.some((name) => name.startsWith(start)),
      `${start} in ${names}`,
    ).toBe(true)
}

/** Presses Tab until the focus is at a stop, which must be visible. */
export async function focusOn(page: Page, start: string): Promise<void> {
  for (let press = 0; press < 200; press += 1) {
    const stop = await focusStop(page)
    if (stop?.name.startsWith(start)) return expect(stop.visible, start).toBe(true)
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not reach ${start}`)
}
