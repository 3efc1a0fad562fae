import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { requireProgram } from '../support/require-program.ts'
import { seriousIssues } from './axe.ts'
import { launchBrowser, openPage, saveScreenshot } from './browser.ts'

/*
 * The demo in a real browser, from its start to its end, answered with the keyboard. It also makes the pictures of the README:
 * TROUPE_SCREENSHOTS=docs/images npx vitest run test/browser/demo-pictures.test.ts
 */

vi.setConfig({ testTimeout: 240_000 })

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
const TITLE = 'Add password reset by e-mail'

test('the demo is watched, answered with a key and finished; nothing fails to load, and the pages of all patterns are accessible', async () => {
  requireProgram('chromium')
  const child = spawn(process.execPath, [MAIN, 'demo', '--serve', '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const browser = await launchBrowser()
  try {
    const { address, token } = await printedAddress(child.stdout)
    await using opened = await openPage(browser, `${address}/#token=${token}`, { colorScheme: 'light' })
    const { page, problems } = opened
    const failed: string[] = []
    page.on('response', (response) => {
      if (response.status() >= 400) failed.push(`${response.status()} ${response.url()}`)
    })
    await page.getByText('asks: May implementer call Edit(package.json)?').waitFor()
    await page.getByText('asks: Approve this plan?').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('i')
    await page.getByRole('heading', { name: 'Approve this plan?' }).waitFor()
    await page.getByRole('cell', { name: 'Compute the changes', exact: true }).waitFor()
    await saveInBothThemes(page, 'inbox')
    // The keys are held back for a moment after the page last moved.
    const isAnswered = async () => {
      await page.keyboard.press('a')
      return (await page.title()) === 'Inbox · Troupe' || (await page.getByText('No open questions').count()) > 0
    }
    await expect.poll(isAnswered, { interval: 300 }).toBe(true)
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    const row = page.locator('.run-row', { hasText: TITLE })
    await row.locator('.column-state').getByText('Completed').waitFor()
    await row.click()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: TITLE }).waitFor()
    await page.getByText('Done. Tokens are hashed').first().waitFor()
    await saveInBothThemes(page, 'swimlanes')
    await checkPatternPages(page, address)
    expect({ problems, failed }).toEqual({ problems: [], failed: [] })
  } finally {
    await browser.close()
    child.kill('SIGTERM')
    await new Promise((resolve) => (child.exitCode === null ? child.once('exit', resolve) : resolve(null)))
  }
})

const PATTERN_PAGES = [
  {
    title: 'Add a preview mode to the importer',
    tab: 'Plan and review',
    text: 'Scope and dependencies',
    name: 'build-plan',
  },
  { title: 'Why did the latency', tab: 'Consultations', text: 'Who asked whom', name: 'consultations' },
  { title: 'Refund the disputed charge', tab: 'Handoffs', text: 'Members and handoffs', name: 'handoffs' },
  { title: 'Token bucket or sliding window', tab: 'Agreement', text: 'Who stands where', name: 'agreement' },
]

/** The pages that patterns bring: they load, fit and have no serious issue, in both themes. */
async function checkPatternPages(page: Page, address: string): Promise<void> {
  for (const { title, tab, text, name } of PATTERN_PAGES) {
    await page.goto(`${address}/runs`)
    const row = page.locator('.run-row', { hasText: title })
    // A picture of a build shows it with its review.
    if (process.env.TROUPE_SCREENSHOTS) await row.getByText('Completed').waitFor()
    await row.click()
    await page.keyboard.press('Enter')
    if (name === 'build-plan') await saveInBothThemes(page, 'build')
    await page.locator('.run-tabs').getByRole('link', { name: tab }).click()
    await page.getByRole('heading', { name: text }).waitFor()
    await saveInBothThemes(page, name)
    for (const width of [400, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      for (const colorScheme of ['light', 'dark'] as const) {
        // Without motion, no colour is on its way from one theme to the other.
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        expect(await seriousIssues(page), `${tab}, ${colorScheme}, ${width} px`).toEqual([])
      }
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), tab).toBeLessThanOrEqual(0)
      if (name === 'consultations') expect(await questionsInView(page), `${width} px`).toBe(true)
    }
  }
}

/** Whether each row of the consultations begins with its question, and all of it is inside the window. */
function questionsInView(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(`(() => {
    const cells = [...document.querySelectorAll('.table td[data-title="Question"]')]
    const isInView = (cell) => {
      cell.scrollIntoView({ block: 'center' })
      const { left, right, width } = cell.getBoundingClientRect()
      return cell.textContent !== '' && cell === cell.parentElement.cells[0] && left >= 0 && right <= innerWidth && width > 60
    }
    return cells.length > 0 && cells.every(isInView)
  })()`)
}

async function saveInBothThemes(page: Page, name: string): Promise<void> {
  if (!process.env.TROUPE_SCREENSHOTS) return
  await page.mouse.move(0, 0)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.evaluate('new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 600))')
    await saveScreenshot(page, `${name}-${colorScheme}`)
  }
}

function printedAddress(output: NodeJS.ReadableStream): Promise<{ address: string; token: string }> {
  return new Promise((resolve) => {
    let text = ''
    output.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      if (text.trimEnd().endsWith('}')) resolve(JSON.parse(text))
    })
  })
}
