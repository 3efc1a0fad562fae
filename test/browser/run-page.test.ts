import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Event } from '../../src/kernel/event.ts'
import { timelineFrom } from '../../src/views/timeline/reduce-timeline.ts'
import { createTimelineStore } from '../../web/data/timeline-store.ts'
import { formatCountOf, formatDuration, formatTokens } from '../../web/design/format.ts'
import { requireProgram } from '../support/require-program.ts'
import { seriousIssues } from './axe.ts'
import { useServe } from './serve-suite.ts'

/* The page of a run and its one-file export in a real browser. One browser and one server for the file. */

const PLANTED = `<img src=x onerror="document.title='run'"></script><script>document.title='run'</script> user\u202egnp.exe`

const script = {
  rules: [
    {
      when: { agent: 'default', turn: 1, says: 'reset' },
      reply: {
        text: 'Two parts.',
        toolCalls: [
          { name: 'task', input: { agent: 'researcher', instruction: 'Read how tokens are stored.' } },
          { name: 'task', input: { agent: 'architect', instruction: PLANTED } },
        ],
        delayMs: 400,
      },
    },
    { when: { agent: 'researcher' }, reply: { text: 'In plain text.', delayMs: 900 } },
    { when: { agent: 'architect' }, reply: { text: PLANTED, delayMs: 300 } },
    { reply: { text: 'Both are done.' } },
  ],
}

const suite = useServe({ script })

const start = () => suite.startTask('Add password reset')
const card = (page: Page, agent: string) => page.locator('.agent-card', { hasText: agent })

async function completedRun(): Promise<string> {
  const run_id = await start()
  await suite.reaches(run_id, 'completed')
  return run_id
}

test('WR19 a run is watched from start to end: cards, messages and the detail of an agent, without a reload', async () => {
  requireProgram('chromium')
  const run_id = await start()
  await using opened = await suite.open(`/runs/${run_id}`)
  const { page, problems } = opened
  await card(page, 'researcher').waitFor()
  await page.locator('.run-title-row .state-chip', { hasText: 'Completed' }).waitFor()
  await card(page, 'researcher').locator('.state-completed').first().waitFor()
  const spoken = page.getByRole('status').first()
  await expect.poll(() => spoken.textContent()).toContain('Add password reset: Completed')
  expect(await page.locator('.message-row').count()).toBeGreaterThanOrEqual(4)
  await card(page, 'researcher').click()
  await page.getByRole('complementary', { name: 'Detail' }).getByText('researcher').first().waitFor()
  await page.waitForURL(/at=agent:/)
  const address = page.url()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.getByRole('complementary', { name: 'Detail' }).count()).toBe(0)
  await page.goto(address)
  await page.getByRole('complementary', { name: 'Detail' }).waitFor()
  expect(await card(page, 'researcher').getAttribute('aria-pressed')).toBe('true')
  expect(problems).toEqual([])
})

test('WR34 WR13 at an earlier event the cards show that moment, and nothing can be decided', async () => {
  requireProgram('chromium')
  const run_id = await completedRun()
  await using opened = await suite.open(`/runs/${run_id}?seq=4`)
  const { page } = opened
  await page.getByText('Decisions are disabled.').waitFor()
  expect(await page.locator('.agent-card').count()).toBe(1)
  await page.getByRole('button', { name: 'Back to the end' }).click()
  await expect.poll(() => page.locator('.agent-card').count()).toBe(3)
})

test('WR34 every moment of a replay shows what the journal up to it says, scrubbed or played at any speed', async () => {
  requireProgram('chromium')
  const run_id = await completedRun()
  const { events } = await suite.serve.api<{ events: Event[] }>('GET', `/api/runs/${run_id}/events?after=0&limit=1000`)
  await using opened = await suite.open(`/runs/${run_id}?seq=1`)
  const { page, problems } = opened
  const slider = page.getByRole('slider', { name: 'Time in the run' })
  await slider.focus()
  for (let seq = 1; seq < events.length; seq += 1) {
    await expect.poll(() => shownMoment(page)).toEqual(momentOf(events, seq))
    await page.keyboard.press('ArrowRight')
  }
  const replaying = page.locator('.run-notice', { hasText: 'Decisions are disabled' })
  await expect.poll(() => replaying.count()).toBe(0)

  for (const speed of ['1×', '64×']) {
    await page.keyboard.press('Home')
    await expect.poll(async () => (await shownMoment(page)).seq).toBe(1)
    const button = page.locator('.transport-speed')
    while ((await button.textContent()) !== speed) await button.click()
    await slider.focus()
    await page.getByRole('button', { name: /^Replay/ }).click()
    while ((await page.getByRole('button', { name: /^Pause/ }).count()) > 0) {
      const shown = await shownMoment(page)
      expect(shown, speed).toEqual(momentOf(events, shown.seq))
    }
    await expect.poll(() => replaying.count()).toBe(0)
    expect(await shownMoment(page)).toEqual(momentOf(events, events.length))
    await slider.focus()
  }

  // Browsers ignore changes of the address that come too fast.
  await page.evaluate(`(async () => {
    for (let step = 0; step < 230; step += 1) {
      const key = step % 2 === 0 ? 'ArrowLeft' : 'ArrowRight'
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
      await new Promise((resolve) => setTimeout(resolve))
    }
  })()`)
  await page.keyboard.press('Home')
  await expect.poll(() => new URL(page.url()).searchParams.get('seq')).toBe('1')
  expect(await shownMoment(page)).toEqual(momentOf(events, 1))
  await page.keyboard.press('End')
  await expect.poll(() => new URL(page.url()).searchParams.has('seq')).toBe(false)
  expect(problems).toEqual([])
})

interface ShownMoment {
  seq: number
  cards: string[][]
  lanes: string[]
  facts: string[]
  messages: string
}

/** What is on the page, read at once; without prices, which the journal does not have. */
function shownMoment(page: Page): Promise<ShownMoment> {
  return page.evaluate<ShownMoment>(`(() => {
    const texts = (root, selector) => [...root.querySelectorAll(selector)].map((each) => each.textContent.trim())
    // A lane with nothing in the visible time tells since when: "Completed 06:34".
    const withoutTime = (text) => text.replace(/^(.)(.*) [0-9:]+$/, (_, first, rest) => first.toLowerCase() + rest)
    const facts = [...document.querySelectorAll('.run-facts > div')].map((each) => texts(each, 'dt, dd'))
    return {
      seq: Number(document.querySelector('.minimap').getAttribute('aria-valuenow')),
      cards: [...document.querySelectorAll('.agent-card')].map((card) => texts(card, 'strong, .agent-action, .agent-figures > span').slice(0, -1)),
      lanes: texts(document, '.lane-label .lane-action').map(withoutTime),
      facts: facts.filter(([name]) => name === 'calls' || name === 'tokens').map(([, value]) => value),
      messages: texts(document, '.run-tabs a')[1],
    }
  })()`)
}

/** The same, from a journal that ends with the event. */
function momentOf(events: readonly Event[], seq: number): ShownMoment {
  const store = createTimelineStore()
  store.replace(seq, timelineFrom(events.slice(0, seq)))
  const moment = store.at(seq)
  const lanes = [...moment.lanes.values()]
  return {
    seq,
    cards: lanes.map(({ lane, action, calls, sessions, busy_ms, tokens }) => {
      const tasks = sessions.open + sessions.ended
      return [
        store.get('lanes', lane)?.label ?? '',
        action.charAt(0).toUpperCase() + action.slice(1),
        formatCountOf(calls, 'call'),
        `${sessions.ended}/${formatCountOf(tasks, 'task')}`,
        formatDuration(busy_ms),
        `${formatTokens(tokens.input + tokens.output)} tokens`,
      ]
    }),
    // Lanes that come later stand there already, without a state.
    lanes: timelineFrom(events).lanes.map(({ id }) => moment.lanes.get(id)?.action ?? 'pending'),
    facts: [String(moment.calls), formatTokens(moment.tokens.input + moment.tokens.output)],
    messages: `Messages ${moment.messages}`,
  }
}

test('WB36 WR28 keyboard only: the table opens with 5, its rows open and close, and Enter opens the exact prompt of a turn', async () => {
  requireProgram('chromium')
  const run_id = await completedRun()
  await using opened = await suite.open(`/runs/${run_id}`)
  const { page, problems } = opened
  await page.locator('.agent-card').first().waitFor()
  await page.keyboard.press('5')
  const grid = page.getByRole('treegrid')
  await grid.focus()
  for (const key of ['ArrowRight', 'ArrowDown', 'ArrowRight', 'ArrowDown']) await page.keyboard.press(key)
  const active = await grid.getAttribute('aria-activedescendant')
  expect(decodeURIComponent(active ?? '')).toMatch(/^tree-turn:/)
  await page.keyboard.press('Enter')
  await page.waitForURL(/at=turn:/)
  const detail = page.getByRole('complementary', { name: 'Detail' })
  await detail.getByText('Add password reset').first().waitFor()
  await opened.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.keyboard.press('y')
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(page.url())
  const note = page.locator('.status-note')
  expect(await note.textContent()).toBe('Link copied')
  expect(await page.getByRole('status').first().textContent()).toBe('Link copied')
  await expect.poll(() => note.count()).toBe(0)
  await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('denied'))`)
  await detail.getByRole('button', { name: 'Copy link' }).click()
  await page.locator('.status-note', { hasText: 'The browser refused to copy the link' }).waitFor()
  expect(problems).toEqual([])
})

test('WR36 the width of the detail is dragged and moved with keys, between 320 and 640 px', async () => {
  requireProgram('chromium')
  const run_id = await completedRun()
  await using opened = await suite.open(`/runs/${run_id}?at=agent:default`)
  const { page } = opened
  const panel = page.getByRole('complementary', { name: 'Detail' })
  const edge = page.getByRole('separator', { name: 'Width of the detail' })
  await edge.waitFor()
  const widths = async () => {
    const [detail, lanes] = await Promise.all([panel.boundingBox(), page.locator('.lanes-window').boundingBox()])
    return { detail: detail?.width ?? 0, right: (lanes?.x ?? 0) + (lanes?.width ?? 0), left: detail?.x ?? 0 }
  }
  const dragTo = async (x: number) => {
    const box = await edge.boundingBox()
    if (!box) throw new Error('the panel has no edge')
    await page.mouse.move(box.x + 2, 500)
    await page.mouse.down()
    await page.mouse.move(x + 40, 420, { steps: 3 })
    await page.mouse.move(x, 420, { steps: 3 })
    await page.mouse.up()
    await page.mouse.move(700, 300)
  }
  expect((await widths()).detail).toBe(396)
  for (const [x, width] of [
    [1440 - 500, 500],
    [100, 640],
    [1430, 320],
  ] as const) {
    await dragTo(x)
    await expect.poll(async () => (await widths()).detail).toBe(width)
    expect(await edge.getAttribute('aria-valuenow')).toBe(String(width))
    const { right, left } = await widths()
    expect(right).toBeLessThanOrEqual(left)
  }
  await edge.focus()
  await page.keyboard.press('ArrowLeft')
  await expect.poll(async () => (await widths()).detail).toBe(340)
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await expect.poll(async () => (await widths()).detail).toBe(320)
})

test('WR8 where a table is a list of records, a choice sorts it', async () => {
  requireProgram('chromium')
  const run_id = await completedRun()
  await using opened = await suite.open(`/runs/${run_id}/cost`, { viewport: { width: 400, height: 860 } })
  const { page } = opened
  const table = page.locator('.card', { hasText: 'By agent' }).locator('.table-frame')
  const names = () => table.locator('tbody td:first-child .agent-label').allInnerTexts()
  await table.waitFor()
  expect(await table.locator('thead').isVisible()).toBe(false)
  const choice = table.getByRole('combobox', { name: 'Sort by' })
  const before = await names()
  expect(before).toHaveLength(3)
  await choice.selectOption({ index: 1 })
  await expect.poll(names).toEqual(before.toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true })))
  await choice.selectOption({ index: 2 })
  await expect.poll(names).toEqual(before.toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true })))
  await choice.selectOption({ index: 0 })
  await expect.poll(names).toEqual(before)
  await page.setViewportSize({ width: 1440, height: 860 })
  await expect.poll(() => table.locator('thead').isVisible()).toBe(true)
  expect(await choice.isVisible()).toBe(false)
})

test('WB19 axe finds no serious issue on the tabs of a run, in both themes and at 400 px, and nothing is wider than the page', async () => {
  requireProgram('chromium')
  const run_id = await completedRun()
  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', 400],
  ] as const) {
    await using opened = await suite.open(`/runs/${run_id}`, { colorScheme, viewport: { width, height: 860 } })
    const { page } = opened
    await page.locator('.agent-card').first().waitFor()
    for (const tab of ['Timeline', 'Messages', 'Cost', 'Events', 'Artifacts']) {
      await page.locator('.run-tabs').getByRole('link', { name: tab }).click()
      await page.locator('.run-tabs [aria-current]', { hasText: tab }).waitFor()
      expect(await seriousIssues(page), `${tab}, ${colorScheme}`).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), tab).toBeLessThanOrEqual(0)
    }
  }
})

test('WR23 an export opens from disk with the same views, makes no request, offers no control and executes nothing', async () => {
  requireProgram('chromium')
  const run_id = await completedRun()
  const file = join(suite.serve.folder, 'a run.html')
  const main = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
  const args = [
    main,
    'export',
    run_id,
    '--format',
    'html',
    '--output',
    file,
    '--store',
    join(suite.serve.folder, 'store'),
  ]
  await promisify(execFile)(process.execPath, args, { env: { PATH: process.env.PATH, HOME: suite.serve.folder } })
  const context = await suite.browser.newContext()
  const requests: string[] = []
  context.on('request', (request) => requests.push(request.url()))
  const page = await context.newPage()
  await page.goto(pathToFileURL(file).href)
  await card(page, 'researcher').waitFor()
  await page.getByText(/^Exported .*, read-only$/).waitFor()
  expect(await page.locator('.run-controls').count()).toBe(0)
  await page.locator('.message-row', { hasText: '<img src=x' }).first().click()
  await page.getByRole('complementary', { name: 'Detail' }).waitFor()
  await page.waitForURL(/#\/runs\/.*at=message:/)
  await page.locator('.run-tabs').getByRole('link', { name: 'Events' }).click()
  await page.locator('.event-row', { hasText: 'run:start' }).waitFor()
  expect(await page.title()).not.toBe('run')
  expect(requests).toEqual([pathToFileURL(file).href])
  await context.close()
})
