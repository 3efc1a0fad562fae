import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { requireProgram } from '../support/require-program.ts'
import { launchBrowser, openPage, saveScreenshot } from './browser.ts'

/*
 * The demo in a real browser, from its start to its end, answered with the keyboard. It also makes the pictures of the README:
 * TROUPE_SCREENSHOTS=docs/images npx vitest run test/browser/demo-pictures.test.ts
 */

vi.setConfig({ testTimeout: 120_000 })

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
const TITLE = 'Add password reset by e-mail'

test('the demo is watched, answered with a key and finished; nothing fails to load', async () => {
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
    await page.getByText('asks: May implementer call Edit(package.json)?').waitFor({ timeout: 60_000 })
    await page.keyboard.press('g')
    await page.keyboard.press('i')
    await page.getByRole('heading', { name: 'May implementer call Edit(package.json)?' }).waitFor()
    // The keys are held back for a moment after the page last moved.
    const isAnswered = async () => {
      await page.keyboard.press('a')
      return (await page.title()) === 'Inbox · Troupe' || (await page.getByText('No open questions').count()) > 0
    }
    await expect.poll(isAnswered, { timeout: 20_000, interval: 300 }).toBe(true)
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    const row = page.locator('.run-row', { hasText: TITLE })
    await row.locator('.column-state').getByText('Completed').waitFor({ timeout: 60_000 })
    await row.click()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: TITLE }).waitFor()
    await page.getByText('Done. Tokens are hashed').first().waitFor()
    await savePictures(page)
    expect({ problems, failed }).toEqual({ problems: [], failed: [] })
  } finally {
    await browser.close()
    child.kill('SIGTERM')
    await new Promise((resolve) => (child.exitCode === null ? child.once('exit', resolve) : resolve(null)))
  }
})

async function savePictures(page: Page): Promise<void> {
  await page.mouse.move(0, 0)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.evaluate('new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 600))')
    await saveScreenshot(page, `swimlanes-${colorScheme}`)
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
