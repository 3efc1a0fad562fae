import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { requireProgram } from '../support/require-program.ts'
import { seriousIssues } from './axe.ts'
import { sampleScript } from './sample-runs.ts'
import { useServe } from './serve-suite.ts'

/* What the page shows when there is nothing, too much or something wrong. One browser and one server for the file. */

/** A request that takes longer than the test. */
const LONG = { when: { says: 'for long' }, reply: { text: 'At last.', delayMs: 600_000 } }

const suite = useServe({ script: { rules: [LONG, ...sampleScript.rules] } })

/** The requests for the list of runs. */
const LIST = /\/api\/runs\?/

const ended = (run_id: string) =>
  expect
    .poll(async () => (await suite.serve.api<{ status: string }>('GET', `/api/runs/${run_id}`)).status)
    .toMatch(/completed|failed/)

test('WB30 without runs, without a match and without questions, the page says what to do', async () => {
  requireProgram('chromium')
  await using opened = await suite.open('/runs')
  const { page, problems } = opened
  await page.getByText('No runs yet.').waitFor()
  await page.getByText('It appears here at once.').waitFor()
  await page.goto(`${suite.serve.address}/inbox`)
  await page.getByText('No open questions.').waitFor()
  await page.goto(`${suite.serve.address}/runs?q=state:failed%20tag:portal`)
  await page.getByText('Nothing matches state:failed tag:portal.').waitFor()
  await page.locator('.button', { hasText: 'Clear the filter' }).click()
  await page.getByText('No runs yet.').waitFor()
  await page.goto(`${suite.serve.address}/runs/r_000000000000`)
  await page.getByText('There is no such run.').waitFor()
  expect(problems).toEqual([])
})

test('WB31 when the list or a run cannot be loaded, the page says so, and Try again loads it', async () => {
  requireProgram('chromium')
  await using opened = await suite.open('/inbox')
  const { page } = opened
  const refuse = {
    status: 503,
    contentType: 'application/json',
    body: '{"error":{"code":"store_failed","message":"the disk is full"}}',
  }
  await page.getByText('No open questions.').waitFor()
  await page.route(LIST, (route) => route.fulfill(refuse))
  await page.keyboard.press('g')
  await page.keyboard.press('r')
  await page.getByText('The runs cannot be loaded.').waitFor()
  await page.getByText('the disk is full').waitFor()
  await page.unroute(LIST)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('No runs yet.').waitFor()
})

test('WB32 a run that is deleted while it is watched stays as it was, with a notice', async () => {
  requireProgram('chromium')
  const run_id = await suite.startTask('Summarise it')
  await ended(run_id)
  await using opened = await suite.open(`/runs/${run_id}`)
  const { page } = opened
  await page.locator('.agent-card').first().waitFor()
  const main = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
  const args = [main, 'delete', run_id, '--yes', '--store', join(suite.serve.folder, 'store')]
  await promisify(execFile)(process.execPath, args, { env: { PATH: process.env.PATH, HOME: suite.serve.folder } })
  await page.getByText('This run was deleted while you watched.').waitFor()
  expect(await page.locator('.agent-card').count()).toBe(1)
})

test('WR37 while the pages of the pattern load, none is said to be missing; the page of costs has the accounts', async () => {
  requireProgram('chromium')
  const run_id = await suite.startTask('Summarise it, with a page that does not exist')
  await ended(run_id)
  await using opened = await suite.open('/runs')
  const { page } = opened
  // Signed in: a page that is left before that has no session.
  await page.locator('.run-row').first().waitFor()
  const answered = Promise.withResolvers<void>()
  await page.route('**/panels*', async (route) => {
    await answered.promise
    await route.continue()
  })
  const missing = page.getByText('This run has no such page.')
  try {
    await page.goto(`${suite.serve.address}/runs/${run_id}/nothing`)
    await page.locator('.run-work .loading-row').first().waitFor()
    expect(await missing.count()).toBe(0)
  } finally {
    answered.resolve()
  }
  await missing.waitFor()
  await page.locator('.run-tabs').getByRole('link', { name: 'Cost' }).click()
  await page.getByRole('heading', { name: 'Accounts' }).waitFor()
})

test('WB33 long titles, tags and names are cut or wrapped: no page is wider than the window', async () => {
  requireProgram('chromium')
  const word = 'Donaudampfschifffahrtsgesellschaftskapitänspatent'.repeat(6)
  const run_id = await suite.startTask(`${word} ${'and more '.repeat(60)}`, [
    'a-tag-of-some-length-that-nobody-would-give-to-a-run',
    'b',
  ])
  await ended(run_id)
  await using opened = await suite.open('/runs', { viewport: { width: 400, height: 800 } })
  const { page } = opened
  const excess = () => page.evaluate('document.documentElement.scrollWidth - innerWidth')
  await page.locator('.run-row').first().waitFor()
  expect(await excess(), 'runs').toBeLessThanOrEqual(0)
  for (const path of ['?at=agent:default', '/messages']) {
    await page.goto(`${suite.serve.address}/runs/${run_id}${path}`)
    await page.locator('.agent-card, .message-row').first().waitFor()
    expect(await excess(), path).toBeLessThanOrEqual(0)
  }
})

test('WB34 forced colours keep the edges of controls and the selection; with reduced motion nothing moves by itself', async () => {
  requireProgram('chromium')
  await suite.startTask('work for long')
  await using opened = await suite.open('/runs', { forcedColors: 'active', reducedMotion: 'reduce' })
  const { page } = opened
  await page.locator('.run-row .state-running').first().waitFor()
  await page.locator('.run-row .monogram').first().waitFor()
  expect(await page.evaluate('document.getAnimations().length')).toBe(0)
  const edge = await page.evaluate("getComputedStyle(document.querySelector('.run-row .monogram')).borderTopWidth")
  expect(edge).toBe('1px')
  await page.keyboard.press('j')
  const outline = await page.evaluate(
    'getComputedStyle(document.querySelector(\'[aria-current], [aria-selected="true"]\')).outlineStyle',
  )
  expect(outline).toBe('solid')
  expect(await seriousIssues(page)).toEqual([])
})

test('WR29 a run without a response says what it waits for, and that nobody executes it any more', async () => {
  requireProgram('chromium')
  const run_id = await suite.startTask('Think for long, then say so')
  await using opened = await suite.open(`/runs/${run_id}`)
  const { page } = opened
  await page.getByText(/^Started \S+ ago, waiting for the first model response\.$/).waitFor()
  // A process that was killed leaves no event: only the row of the run tells that its lease has ended.
  await page.route(`**/api/runs/${run_id}`, async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...((await response.json()) as object), running: false } })
  })
  await page.getByText(/^Started .* ago, interrupted before the first model response\./).waitFor()
  await suite.serve.api('POST', `/api/runs/${run_id}/cancel`, {})
  await page.locator('.run-title-row .state-chip', { hasText: 'Cancelled' }).waitFor()
  expect(await page.locator('.first-wait').count()).toBe(0)
  const body = { input: { request: 'Change something' } }
  const { run_id: build } = await suite.serve.api<{ run_id: string }>('POST', '/api/patterns/build/runs', body)
  await ended(build)
  await page.goto(`${suite.serve.address}/runs/${build}`)
  await page.getByText('The run ended before a model responded.').waitFor()
})

test('WB6 full-text search and tags find a run, and each filter has an address', async () => {
  requireProgram('chromium')
  const run_id = await suite.startTask('Find the narwhal in the logs', ['sea'])
  await ended(run_id)
  await using opened = await suite.open('/runs')
  const { page } = opened
  await page.locator('.run-row', { hasText: 'narwhal' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('tag:sea narwhal')
  await page.waitForURL(/q=tag.*narwhal/)
  await expect.poll(() => page.locator('.run-row').count()).toBe(1)
  await page.reload()
  await page.locator('.run-row', { hasText: 'narwhal' }).waitFor()
})
