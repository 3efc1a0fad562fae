import { gzipSync } from 'node:zlib'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { startLanesServer } from '../test/support/lanes-server.ts'
import { largeSample } from '../test/support/more-sample-timelines.ts'
import { buildPage } from '../web/build.ts'

/* npm run bench:viewer [-- LANES CALLS]: the swimlanes in Chromium. Frames are measured between animation frames, without a GPU. */

const LANES = Number(process.argv[2] ?? 200)
const CALLS = Number(process.argv[3] ?? 20_000)
const AIMS = { paint: 1000, frame: 20, page: 400 }
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--enable-precise-memory-info',
]

interface Frames {
  p50: number
  p95: number
  longest: number
  /** Processor time of the main thread per frame, which other programs on the machine do not change. */
  cpu: number
}

type Gesture = 'pan' | 'zoom' | 'scroll'

const GESTURES: readonly Gesture[] = ['pan', 'zoom', 'scroll']
const FRAMES = 240

async function mainThreadTime(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000
}

async function measureGesture(page: Page, session: CDPSession, gesture: Gesture): Promise<Frames> {
  const before = await mainThreadTime(session)
  const intervals = await page.evaluate<number[]>(`lanesPage.measure('${gesture}', ${FRAMES})`)
  const cpu = ((await mainThreadTime(session)) - before) / FRAMES
  const sorted = intervals.sort((a, b) => a - b)
  const share = (part: number) => sorted[Math.floor(sorted.length * part)] ?? 0
  return { p50: share(0.5), p95: share(0.95), longest: sorted.at(-1) ?? 0, cpu }
}

/** Asked from outside: the policy of the page allows no `eval`. */
const FIRST_PAINT = `new Promise((resolve) => {
  const look = () => {
    const [mark] = performance.getEntriesByName('lanes-painted')
    if (mark) resolve(mark.startTime)
    else setTimeout(look, 10)
  }
  look()
})`

async function firstPaint(browser: Browser, url: string): Promise<{ page: Page; ms: number }> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await page.goto(`${url}/?sample=large`)
  const ms = await page.evaluate<number>(FIRST_PAINT)
  return { page, ms }
}

function report(label: string, value: string, verdict: boolean | null = null): void {
  const mark = verdict === null ? '' : verdict ? '  ok' : '  MISSED'
  console.log(`${label.padEnd(46)} ${value.padStart(34)}${mark}`)
}

const timeline = largeSample(LANES, CALLS)
const now = Math.max(...timeline.turns.map(({ ended_at }) => ended_at ?? 0))
console.log(`${timeline.lanes.length} lanes, ${timeline.turns.length} turns, ${timeline.calls.length} calls`)
await using server = await startLanesServer({ large: () => ({ timeline, now }) })
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS })
try {
  const files = Object.values(await buildPage())
  const weight = files.reduce((total, text: string) => total + gzipSync(text).length, 0) / 1000
  const paints: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const { page, ms } = await firstPaint(browser, server.url)
    paints.push(ms)
    await page.close()
  }
  const { page, ms } = await firstPaint(browser, server.url)
  const median = [...paints, ms].sort((a, b) => a - b)[1] ?? Infinity
  report(`first paint (aim ${AIMS.paint} ms)`, `${median.toFixed(0)} ms`, median <= AIMS.paint)
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  for (const level of ['1', '2', '3', '4']) {
    await page.keyboard.press(level)
    await page.waitForTimeout(400)
    for (const gesture of GESTURES) {
      const { p50, p95, longest, cpu } = await measureGesture(page, session, gesture)
      const figures = [p50, p95, longest].map((value) => value.toFixed(1)).join(' / ')
      report(
        `level ${level} ${gesture}: frame p50 / p95 / longest`,
        `${figures} ms, main thread ${cpu.toFixed(1)} ms`,
        p95 <= AIMS.frame,
      )
      await page.keyboard.press(level)
      await page.waitForTimeout(300)
    }
  }
  const memory = await page.evaluate<number>('performance.memory.usedJSHeapSize')
  report('JavaScript heap', `${(memory / 1e6).toFixed(0)} MB`)
  report(`the whole page, compressed (aim ${AIMS.page} kB)`, `${weight.toFixed(0)} kB`, weight <= AIMS.page)
} finally {
  await browser.close()
}
