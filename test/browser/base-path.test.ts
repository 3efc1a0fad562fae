import { expect, test } from 'vitest'
import { ada, startTestHandler } from '../support/handler-harness.ts'
import { requireProgram } from '../support/require-program.ts'
import { launchBrowser, openPage } from './browser.ts'

test.each(['kept', 'removed'] as const)(
  'HS37 the page of a handler whose prefix is %s works below its path',
  async (prefix) => {
    requireProgram('chromium')
    const { port, troupe } = await startTestHandler(prefix, { page: true, authenticate: () => ada })
    const { run_id } = await troupe.run('task', { agent: 'lead', instruction: 'Translate onboarding' })
    const browser = await launchBrowser()
    try {
      const address = `http://127.0.0.1:${port}/agents`
      await using opened = await openPage(browser, address)
      const { page, problems } = opened
      await page.locator(`[data-run="${run_id}"]`).click()
      await page.waitForURL(`${address}/runs/${run_id}*`)
      await page.reload()
      await page.getByRole('link', { name: 'Inbox' }).click()
      await page.waitForURL(`${address}/inbox`)
      await page.getByRole('link', { name: 'Runs', exact: true }).click()
      // Without a reload: the stream is below the path, too.
      const next = await troupe.run('task', { agent: 'lead', instruction: 'Fix flaky test' })
      await page.locator(`[data-run="${next.run_id}"]`).waitFor()
      expect(problems).toEqual([])
    } finally {
      await browser.close()
    }
  },
)
