import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { requireProgram } from '../support/require-program.ts'
import { collectProblems } from './browser.ts'
import { sampleScript } from './sample-runs.ts'
import { useServe } from './serve-suite.ts'

/* Many tabs of one browser, against a real server over HTTP/1.1. */

const suite = useServe({ script: sampleScript })

/** The connections of this tab that carry a stream and are open. */
function openStreams(page: Page): Set<unknown> {
  const open = new Set<unknown>()
  page.on('request', (request) => {
    if (/\/api\/(watch|changes|runs\/[^/]+\/timeline)/.test(request.url())) open.add(request)
  })
  for (const end of ['requestfinished', 'requestfailed'] as const)
    page.on(end as 'requestfinished', (request) => open.delete(request))
  return open
}

test('WB23 eight tabs share one stream, all of them live; when the leading tab is closed, another one takes over', async () => {
  requireProgram('chromium')
  const runs = await Promise.all(Array.from({ length: 7 }, (_, index) => suite.startTask(`Look at part ${index}`)))
  await using opened = await suite.open()
  const { context, page: first } = opened
  await first.getByText('Live', { exact: true }).waitFor()
  const problems = [opened.problems]
  const streams: Set<unknown>[] = []
  const pages: Page[] = []
  for (const run_id of runs) {
    const page = await context.newPage()
    problems.push(collectProblems(page))
    streams.push(openStreams(page))
    await page.goto(`${suite.serve.address}/runs/${run_id}`)
    await page.getByRole('list', { name: 'Agents' }).getByRole('listitem').first().waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    pages.push(page)
  }
  expect(streams.map((open) => open.size)).toEqual(runs.map(() => 0))

  await first.close()
  const run_id = await suite.startTask('Translate onboarding, slowly')
  const [watching, other] = pages
  await watching?.goto(`${suite.serve.address}/runs/${run_id}`)
  await other?.goto(`${suite.serve.address}/runs`)
  await other?.locator(`[data-run="${run_id}"]`).locator('.column-state').getByText('Completed').waitFor()
  await watching?.locator('.run-header, header').getByText('Completed').first().waitFor()
  for (const page of pages) await page.getByText('Live', { exact: true }).waitFor()
  await expect.poll(() => streams.reduce((sum, open) => sum + open.size, 0)).toBe(1)
  expect(problems.flat()).toEqual([])
})

test('WB23 after a restart of the server all tabs are live again', async () => {
  requireProgram('chromium')
  await using opened = await suite.open()
  await opened.page.getByText('Live', { exact: true }).waitFor()
  const second = await opened.context.newPage()
  await second.goto(`${suite.serve.address}/runs`)
  await second.getByText('Live', { exact: true }).waitFor()
  await suite.serve.restart()
  const run_id = await suite.startTask('Fix flaky test')
  for (const page of [opened.page, second]) await page.locator(`[data-run="${run_id}"]`).waitFor()
})
