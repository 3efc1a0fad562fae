import { join } from 'node:path'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { findProgram } from '../../src/tools/search/ripgrep.ts'
import { timeLimit } from '../support/time-limit.ts'

/* Chromium of the machine, without a window and with a new profile for each context. */

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export function launchBrowser(): Promise<Browser> {
  const executablePath = findProgram('chromium')
  if (executablePath === undefined) throw new Error('chromium is missing')
  return chromium.launch({ executablePath, headless: true, args: FLAGS })
}

export interface OpenedPage extends AsyncDisposable {
  page: Page
  context: BrowserContext
  /** Errors of scripts and refusals of the content security policy. */
  problems: string[]
  /** The addresses of all requests, from the first one on. */
  requests: string[]
}

/** Opens an address in a profile of its own. */
export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options })
  context.setDefaultTimeout(timeLimit(60_000))
  const requests: string[] = []
  context.on('request', (request) => requests.push(request.url()))
  const page = await context.newPage()
  const problems = collectProblems(page)
  await page.goto(address)
  return { page, context, problems, requests, [Symbol.asyncDispose]: () => context.close() }
}

/** Writes a picture of the page to the folder in `TROUPE_SCREENSHOTS`; without the variable, nothing. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.TROUPE_SCREENSHOTS
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`) })
}

export function collectProblems(page: Page): string[] {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    // A failed request is told by the page itself; what the policy refused is not.
    if (message.type() === 'error' && !/Failed to load resource|net::ERR/.test(message.text()))
      problems.push(`console: ${message.text()}`)
  })
  return problems
}
