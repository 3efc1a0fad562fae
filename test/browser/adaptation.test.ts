import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { requireProgram } from '../support/require-program.ts'
import { lowContrastTexts } from './axe.ts'
import { saveScreenshot } from './browser.ts'
import { sampleScript } from './sample-runs.ts'
import { useServe } from './serve-suite.ts'

/* The page as people have set their browser: larger, or with more contrast. One browser and one server for the file. */

const suite = useServe({ script: sampleScript, args: ['--ask', 'Write'] })

/** A run that has ended, and one that asks; the addresses of all views. */
async function startRuns(): Promise<{ paths: string[]; run_id: string }> {
  const run_id = await suite.startTask('Summarise the change log')
  await suite.reaches(run_id, 'completed')
  const asking = await suite.startTask('Add password reset by e-mail')
  await suite.reaches(asking, 'waiting')
  const gates = await suite.serve.api<{ gate_id: string }[]>('GET', '/api/inbox')
  const tabs = ['', '/table', '/messages', '/cost', '/events', '/artifacts'].map((tab) => `/runs/${asking}${tab}`)
  const detail = `/runs/${asking}?at=agent:default`
  return { run_id, paths: ['/runs', ...tabs, detail, `/inbox/${gates[0]?.gate_id}`, '/metrics'] }
}

async function show(page: Page, path: string): Promise<void> {
  await page.goto(suite.serve.address + path)
  await page.locator('h1, .run-row, .agent-card').first().waitFor()
  await page.evaluate('new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 500))')
}

/** What a page has outside of the window: its parts scroll, the document does not. */
const OVERFLOW = `(({ scrollWidth, scrollHeight }) => [scrollWidth - innerWidth, scrollHeight - innerHeight].join())(document.documentElement)`

/** Controls that cannot be brought into view, or that something else lies over. */
function unreachableControls(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    // The detail is a sheet over the page.
    const root = document.querySelector('.detail-panel') ?? document
    const controls = [...root.querySelectorAll('a[href], button, input, select, textarea, summary')]
    const shown = controls.filter((each) => each.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
      each.closest('.visually-hidden, .hidden-table, .skip-link, [aria-hidden="true"]') === null)
    return shown.flatMap((each) => {
      each.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
      const { left, top, width, height } = each.getBoundingClientRect()
      const [x, y] = [left + width / 2, top + height / 2]
      const isInside = x >= 0 && y >= 0 && x <= innerWidth && y <= innerHeight && width > 0 && height > 0
      const hit = isInside ? document.elementFromPoint(x, y) : null
      if (hit !== null && (each.contains(hit) || hit.contains(each) || hit.closest('label')?.contains(each))) return []
      const name = each.getAttribute('aria-label') ?? each.textContent.trim()
      return [each.localName + ' ' + name.slice(0, 40) + ' at ' + Math.round(x) + ',' + Math.round(y)]
    })
  })()`)
}

test('WB38 at 200 % no page is wider than the window, and every control can be brought into view and hit', async () => {
  requireProgram('chromium')
  const { paths } = await startRuns()
  await using opened = await suite.open('/runs', { viewport: { width: 720, height: 450 }, deviceScaleFactor: 2 })
  const { page, problems } = opened
  const lost: string[] = []
  for (const [index, path] of paths.entries()) {
    await show(page, path)
    await saveScreenshot(page, `zoom-${index}`)
    expect([path, await page.evaluate(OVERFLOW)]).toEqual([path, '0,0'])
    for (const control of await unreachableControls(page)) lost.push(`${path}: ${control}`)
  }
  expect({ lost, problems }).toEqual({ lost: [], problems: [] })
})

/** The contrast between the edge of a control and the ground of the page. */
async function edgeContrast(page: Page): Promise<number> {
  await page.locator('main .field, main .button, main .chip').first().waitFor()
  return page.evaluate<number>(`(() => {
    const luminance = (colour) => {
      const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => Number(part) / 255)
      const [red, green, blue] = parts.map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
    const edge = getComputedStyle(document.querySelector('main .field, main .button, main .chip')).borderTopColor
    const both = [edge, getComputedStyle(document.body).backgroundColor].map(luminance)
    return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05)
  })()`)
}

const lanesPicture = (page: Page) =>
  page.evaluate<string>(
    `[...document.querySelectorAll('.lanes-plot canvas')].map((canvas) => canvas.toDataURL()).join()`,
  )

test('WB39 with more contrast, text has at least 7:1 and edges of controls 3:1, in both themes', async () => {
  requireProgram('chromium')
  const { paths, run_id } = await startRuns()
  for (const colorScheme of ['light', 'dark'] as const) {
    await using opened = await suite.open('/runs', { colorScheme, contrast: 'more', reducedMotion: 'reduce' })
    const { page } = opened
    await show(page, '/runs')
    expect(await edgeContrast(page)).toBeGreaterThanOrEqual(3)
    const low: string[] = []
    for (const path of paths) {
      await show(page, path)
      for (const text of await lowContrastTexts(page)) low.push(`${path}, ${colorScheme}, ${text}`)
    }
    expect(low).toEqual([])
    await show(page, `/runs/${run_id}`)
    await expect.poll(() => page.locator('.lanes-plot canvas').count()).toBeGreaterThan(1)
    const strong = await lanesPicture(page)
    await page.emulateMedia({ contrast: 'no-preference' })
    await expect.poll(() => lanesPicture(page)).not.toBe(strong)
  }
})
