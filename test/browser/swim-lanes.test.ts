import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findProgram } from '../../src/tools/search/ripgrep.ts'
import type { LanesServer } from '../support/lanes-server.ts'
import { startLanesServer } from '../support/lanes-server.ts'
import { largeSample } from '../support/more-sample-timelines.ts'
import { requireProgram } from '../support/require-program.ts'
import { BUILD_SAMPLE_NOW, buildSample } from '../support/sample-timelines.ts'
import { changesBetween, timelineUpTo } from '../support/timeline-builder.ts'
import { launchBrowser, openPage } from './browser.ts'

/* The swimlanes in real Chromium, under the content security policy of the page. */

const sample = buildSample()
const head = sample.run[0]?.head ?? 0
const large = largeSample(200, 2_000)
const early = head - 30
let server: LanesServer
let browser: Browser

beforeAll(async () => {
  if (findProgram('chromium') === undefined) return
  server = await startLanesServer({
    build: () => ({ timeline: sample, now: BUILD_SAMPLE_NOW }),
    early: () => ({ timeline: timelineUpTo(sample, early), now: BUILD_SAMPLE_NOW - 300_000 }),
    large: () => ({ timeline: large, now: null }),
  })
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser?.close()
  await server?.[Symbol.asyncDispose]()
})

async function openLanes(name: string, viewport = { width: 1200, height: 700 }) {
  requireProgram('chromium')
  const options = { viewport, colorScheme: 'light', reducedMotion: 'reduce' } as const
  const opened = await openPage(browser, `${server.url}/?sample=${name}`, options)
  await painted(opened.page)
  return opened
}

/** Waits until the canvases show the latest state. */
async function painted(page: Page): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => performance.getEntriesByName('lanes-painted').length > 0
      ? requestAnimationFrame(() => requestAnimationFrame(resolve))
      : setTimeout(look, 10)
    look()
  })`)
}

/** Different colours on a canvas, the colour of its corner, and that of a line 16 px before the right edge. */
async function colours(page: Page, layer: number): Promise<{ count: number; corner: string; line: string }> {
  return page.evaluate<{ count: number; corner: string; line: string }>(`(() => {
    const canvas = document.querySelectorAll('.lanes-plot canvas')[${layer}]
    const context = canvas.getContext('2d')
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height)
    const seen = new Set(new Uint32Array(data.buffer))
    const line = [...context.getImageData(canvas.width - 17, canvas.height - 5, 2, 1).data].join()
    return { count: seen.size, corner: [...data.slice(-4)].join(), line }
  })()`)
}

async function handle(page: Page): Promise<{ selection: unknown; replaySeq: number | null; range: unknown }> {
  return page.evaluate('({ ...lanesPage, apply: null, measure: null, setConnected: null })')
}

const level = (page: Page) => page.locator('.lanes-toolbar [aria-pressed="true"]').first().textContent()

test('WB14 the canvases are painted in the colours of the theme, without an inline style sheet or script', async () => {
  await using opened = await openLanes('build')
  const { page, problems } = opened
  const light = await Promise.all([0, 1, 2, 3].map((layer) => colours(page, layer)))
  for (const { count } of light) expect(count).toBeGreaterThan(3)
  await page.emulateMedia({ colorScheme: 'dark' })
  await painted(page)
  await expect.poll(async () => (await colours(page, 0)).corner).not.toBe(light[0]?.corner)
  expect(problems).toEqual([])
})

test('WL21 the canvases are hidden from assistive technology, and the minimap is a slider with a spoken time', async () => {
  await using opened = await openLanes('build')
  const { page } = opened
  expect(await page.locator('.lanes-plot').getAttribute('aria-hidden')).toBe('true')
  const slider = page.getByRole('slider', { name: 'Time in the run' })
  expect(await slider.getAttribute('aria-valuetext')).toMatch(/^\d\d:\d\d:\d\d, live$/)
  await slider.focus()
  await page.keyboard.press('ArrowLeft')
  await expect.poll(async () => (await handle(page)).replaySeq).toBe(head - 1)
  expect(await slider.getAttribute('aria-valuetext')).toMatch(/^\d\d:\d\d:\d\d$/)
  await page.getByRole('button', { name: 'Back to live' }).click()
  await expect.poll(async () => (await handle(page)).replaySeq).toBeNull()
})

test('WL14 keys move through the lanes, choose levels and follow now', async () => {
  await using opened = await openLanes('build')
  const { page } = opened
  await page.keyboard.press('ArrowRight')
  expect((await handle(page)).selection).toEqual({ kind: 'turn', id: 't1' })
  await page.keyboard.press('Enter')
  expect((await handle(page)).selection).toEqual({ kind: 'call', id: 't1c1' })
  await page.keyboard.press('n')
  expect((await handle(page)).selection).toEqual({ kind: 'gate', id: 'g2' })
  for (const [key, name] of [
    ['1', 'Overview'],
    ['4', 'Calls'],
    ['2', 'Lanes'],
    ['3', 'Turns'],
  ] as const) {
    await page.keyboard.press(key)
    await expect.poll(() => level(page)).toBe(name)
  }
})

test('WL15 a click selects what is painted there, a click on a gap expands it, and dragging ends following', async () => {
  await using opened = await openLanes('build')
  const { page } = opened
  const follow = page.getByRole('button', { name: 'Follow now' })
  const plot = await page.locator('.lanes-plot').boundingBox()
  if (!plot) throw new Error('the page has no lanes')
  const at = (x: number, y: number) => [plot.x + x, plot.y + y] as const
  await page.mouse.click(...at(plot.width - 60, 46 + 2 * 58 + 39))
  expect((await handle(page)).selection).toEqual({ kind: 'gate', id: 'g2' })
  await page.mouse.move(...at(plot.width - 60, 46 + 2 * 58 + 39))
  await expect.poll(() => page.locator('.lanes-tooltip').textContent()).toContain('Edit package.json?')
  expect(await follow.getAttribute('aria-pressed')).toBe('true')
  await page.mouse.move(...at(100, 10))
  await expect.poll(() => page.locator('.lanes-tooltip').textContent()).toContain('26m 24s idle, collapsed')
  await page.mouse.click(...at(100, 10))
  await page.mouse.move(...at(101, 10))
  await expect.poll(() => page.locator('.lanes-tooltip').count()).toBe(0)
  // The key collapses it again.
  await page.keyboard.press('i')
  await page.keyboard.press('i')
  await page.mouse.move(...at(100, 10))
  await expect.poll(() => page.locator('.lanes-tooltip').textContent()).toContain('26m 24s idle, collapsed')
  await page.mouse.move(...at(400, 300))
  await page.mouse.down()
  await page.mouse.move(...at(480, 300), { steps: 4 })
  await page.mouse.up()
  await expect.poll(() => follow.getAttribute('aria-pressed')).toBe('false')
  await expect.poll(async () => Array.isArray((await handle(page)).range)).toBe(true)
})

test('WL13 events that come while the view does not follow are counted, and a button goes to now', async () => {
  await using opened = await openLanes('early')
  const { page } = opened
  await page.keyboard.press('f')
  const changes = changesBetween(timelineUpTo(sample, early), sample, head)
  await page.evaluate(`lanesPage.apply(${JSON.stringify(changes)}, ${BUILD_SAMPLE_NOW})`)
  const button = page.getByRole('button', { name: '30 new, go to now' })
  await button.click()
  await expect.poll(() => button.count()).toBe(0)
  expect(await page.getByRole('button', { name: 'Follow now' }).getAttribute('aria-pressed')).toBe('true')
})

test('WL23 the area has room for all lanes, up to 60 % of the page', async () => {
  await using opened = await openLanes('build', { width: 1200, height: 900 })
  const { page } = opened
  const height = async () => (await page.locator('.lanes-scroller').boundingBox())?.height
  const lanes = sample.lanes.length
  expect(await height()).toBe(47 + lanes * 58)
  await page.keyboard.press('4')
  await expect.poll(height).toBe(Math.min(47 + lanes * 100, 0.6 * 900 - 80))
  expect(await page.evaluate("document.querySelector('.lanes-window').clientHeight")).toBe(await height())
})

test('WL24 the now line is grey while the connection is lost', async () => {
  await using opened = await openLanes('build')
  const { page } = opened
  const blue = await colours(page, 3)
  await page.evaluate('lanesPage.setConnected(false)')
  await painted(page)
  await expect.poll(async () => (await colours(page, 3)).line).not.toBe(blue.line)
  await page.evaluate('lanesPage.setConnected(true)')
  await expect.poll(async () => (await colours(page, 3)).line).toBe(blue.line)
})

test('WL22 a page of 400 px shows monograms, hides the legend and does not scroll sideways', async () => {
  await using opened = await openLanes('build', { width: 400, height: 700 })
  const { page, problems } = opened
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(400)
  const label = await page.locator('.lane-label').first().boundingBox()
  expect(label?.width).toBeLessThanOrEqual(36)
  expect(await page.locator('.lanes-legend').isVisible()).toBe(false)
  expect(problems).toEqual([])
})

test('WL8 200 lanes: one group for each role in the overview, lanes out of work are low, and the last lane is reached', async () => {
  await using opened = await openLanes('large')
  const { page } = opened
  const names = () => page.locator('.lane-label .lane-name').allTextContents()
  const content = async () => (await page.locator('.lanes-content').boundingBox())?.height ?? 0
  await page.keyboard.press('1')
  await expect.poll(names).toEqual(['architect', 'reviewer × 50', 'tester × 50', 'writer × 50', 'developer × 49'])
  const overview = await content()
  await page.keyboard.press('3')
  await expect.poll(async () => (await names()).includes('reviewer-1')).toBe(true)
  // Only the lanes in view and some around them are in the document.
  expect((await names()).length).toBeLessThan(100)
  const expanded = await content()
  expect(expanded).toBeGreaterThan(2 * overview)
  await expect.poll(() => page.locator('.lane-label-small').count()).toBeGreaterThan(0)
  const [low, high] = await Promise.all(
    ['.lane-label-small', '.lane-label-large'].map(
      async (size) => (await page.locator(size).first().boundingBox())?.height,
    ),
  )
  expect([low, high]).toEqual([28, 58])
  await page.evaluate("document.querySelector('.lanes-scroller').scrollTo(0, 1e6)")
  await expect.poll(async () => (await names()).at(-1)).toBe(large.lanes.at(-1)?.label)
  await page.keyboard.press('1')
  await expect.poll(content).toBe(overview)
})

test('WL25 two fingers zoom at their middle, and the window of the minimap drags and resizes', async () => {
  await using opened = await openLanes('build')
  const { page, context } = opened
  const range = async () => (await handle(page)).range as [number, number] | null
  const plot = await page.locator('.lanes-plot').boundingBox()
  const minimap = await page.locator('.minimap').boundingBox()
  if (!plot || !minimap) throw new Error('the page has no lanes')
  const client = await context.newCDPSession(page)
  const touch = (type: string, ...xs: number[]) =>
    client.send('Input.dispatchTouchEvent', {
      type: type as 'touchStart',
      touchPoints: xs.map((x, id) => ({ x: plot.x + x, y: plot.y + 200, id })),
    })
  await touch('touchStart', 380, 420)
  for (const spread of [40, 80, 120, 160]) await touch('touchMove', 400 - spread, 400 + spread)
  await touch('touchEnd')
  await expect.poll(range).not.toBeNull()
  const [from = 0, to = 0] = (await range()) ?? []
  const y = minimap.y + minimap.height / 2
  const drag = async (x: number, by: number) => {
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(x + by, y, { steps: 4 })
    await page.mouse.up()
  }
  await page.keyboard.press('0')
  const end = async () => ((await range()) ?? [0, Number.POSITIVE_INFINITY])[1]
  await expect.poll(end).toBeGreaterThan(Math.max(to, BUILD_SAMPLE_NOW - 1_000))
  await drag(minimap.x + minimap.width - 2, -300)
  await expect.poll(end).toBeLessThan(BUILD_SAMPLE_NOW - 60_000)
  const [left = 0, right = 0] = (await range()) ?? []
  await drag(minimap.x + 100, 120)
  await expect.poll(async () => ((await range()) ?? [0, 0])[0]).toBeGreaterThan(left)
  expect(to - from).toBeGreaterThan(0)
  expect(right).toBeGreaterThan(left)
})

test('WL30 the wheel scrolls lanes and pans across, Ctrl and wheel zoom at the pointer, and the page itself does neither', async () => {
  await using opened = await openLanes('build')
  const { page } = opened
  const plot = await page.locator('.lanes-plot').boundingBox()
  if (!plot) throw new Error('the page has no lanes')
  const range = async () => {
    const [from, to] = ((await handle(page)).range ?? [0, 0]) as [number, number]
    return { from, to, span: to - from }
  }
  const changed = async (before: { from: number; span: number }) => {
    await expect.poll(async () => JSON.stringify(await range())).not.toBe(JSON.stringify(before))
    return settled(page, range)
  }
  // Without collapsed gaps, time is linear.
  await page.keyboard.press('i')
  await page.mouse.move(plot.x + 600, plot.y + 200)
  await page.mouse.wheel(-40, 0)
  const first = await changed(await range())
  const msPerPixel = first.span / plot.width
  await page.mouse.wheel(-100, 0)
  const panned = await changed(first)
  expect(panned.span).toBeCloseTo(first.span, -1)
  expect((first.from - panned.from) / msPerPixel).toBeCloseTo(100, 0)
  await page.keyboard.down('Shift')
  await page.mouse.wheel(0, 50)
  await page.keyboard.up('Shift')
  const shifted = await changed(panned)
  expect((shifted.from - panned.from) / msPerPixel).toBeCloseTo(50, 0)
  const timeAtPointer = ({ from, span }: typeof first) => from + (span * 600) / plot.width
  await page.keyboard.down('Control')
  await page.mouse.wheel(0, -50)
  const near = await changed(shifted)
  expect(near.span / shifted.span).toBeCloseTo(Math.exp(-0.4), 2)
  expect(Math.abs(timeAtPointer(near) - timeAtPointer(shifted))).toBeLessThan(msPerPixel)
  await page.mouse.wheel(0, 50)
  const far = await changed(near)
  await page.keyboard.up('Control')
  expect(far.span / near.span).toBeCloseTo(Math.exp(0.4), 2)
  expect(await page.evaluate('[devicePixelRatio, visualViewport.scale, scrollX, scrollY].join()')).toBe('1,1,0,0')
})

test('WL30 with more lanes than fit, the wheel scrolls them and leaves the time alone', async () => {
  await using opened = await openLanes('large')
  const { page } = opened
  const plot = await page.locator('.lanes-plot').boundingBox()
  if (!plot) throw new Error('the page has no lanes')
  const top = () => page.evaluate<number>("document.querySelector('.lanes-scroller').scrollTop")
  await page.keyboard.press('3')
  await page.mouse.move(plot.x + 400, plot.y + 150)
  const { range } = await handle(page)
  await page.mouse.wheel(0, 300)
  await expect.poll(top).toBe(300)
  expect((await handle(page)).range).toEqual(range)
})

/** The value once it is the same twice: zooming and panning end a frame or two after the wheel. */
async function settled<Value>(page: Page, read: () => Promise<Value>): Promise<Value> {
  for (let before = await read(); ; ) {
    await page.evaluate('new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 250))')
    const now = await read()
    if (JSON.stringify(now) === JSON.stringify(before)) return now
    before = now
  }
}

test('WL31 while an earlier moment is shown, what came after it shows through at 35 %, in both themes', async () => {
  await using opened = await openLanes('build')
  const { page } = opened
  const minimap = await page.locator('.minimap').boundingBox()
  if (!minimap) throw new Error('the page has no minimap')
  /** The overlay at a share of the width, between two lanes. */
  const overlayAt = (share: number) =>
    page.evaluate<number[]>(`(() => {
      const canvas = document.querySelectorAll('.lanes-plot canvas')[3]
      const data = canvas.getContext('2d').getImageData(Math.round(canvas.width * ${share}), canvas.height - 3, 1, 1).data
      return [...data]
    })()`)
  const ground = () =>
    page.evaluate<number[]>(`(() => {
      const probe = document.body.appendChild(document.createElement('i'))
      probe.style.color = 'var(--bg)'
      const found = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(Number)
      probe.remove()
      return found
    })()`)
  expect(await overlayAt(0.2)).toEqual([0, 0, 0, 0])
  expect(await overlayAt(0.8)).toEqual([0, 0, 0, 0])
  await page.mouse.click(minimap.x + minimap.width / 2, minimap.y + minimap.height / 2)
  await expect.poll(async () => (await handle(page)).replaySeq).not.toBeNull()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await expect.poll(async () => (await overlayAt(0.95))[3]).toBe(Math.round(0.65 * 255))
    expect(await overlayAt(0.05)).toEqual([0, 0, 0, 0])
    const difference = async () => {
      const veil = await overlayAt(0.95)
      return Math.max(...(await ground()).map((value, index) => Math.abs((veil[index] ?? 0) - value)))
    }
    // The overlay of the other theme has the same opacity until the next frame.
    await expect.poll(difference).toBeLessThanOrEqual(1)
  }
  await page.getByRole('button', { name: 'Back to live' }).click()
  await expect.poll(() => overlayAt(0.8)).toEqual([0, 0, 0, 0])
})
