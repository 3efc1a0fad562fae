import { expect, test } from 'vitest'
import { requireProgram } from '../support/require-program.ts'
import { openPage } from './browser.ts'
import { sampleScript } from './sample-runs.ts'
import { useServe } from './serve-suite.ts'

/* The frame and the list of runs in a real browser, against a real server. One browser and one server for the file. */

const suite = useServe({ script: sampleScript })

test('WB10 the token leaves the address at once; the cookie of the page survives a reload and is hidden from scripts', async () => {
  requireProgram('chromium')
  await using opened = await suite.open('/runs')
  const { page, context, problems } = opened
  await page.getByRole('link', { name: 'Runs', exact: true }).waitFor()
  expect(page.url()).toBe(`${suite.serve.address}/runs`)
  expect(await page.evaluate('history.length')).toBeLessThanOrEqual(2)
  await page.reload()
  await page.getByText('Live', { exact: true }).waitFor()
  const [cookie] = await context.cookies()
  expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Strict' })
  expect(await page.evaluate('document.cookie')).toBe('')
  expect(problems).toEqual([])
})

test('WB10 a page without token or cookie says how to sign in', async () => {
  requireProgram('chromium')
  await using opened = await openPage(suite.browser, `${suite.serve.address}/inbox`)
  await opened.page.getByRole('heading', { name: 'You are not signed in.' }).waitFor()
  expect(await opened.page.textContent('code')).toBe('troupe serve --open')
})

test('WB11 a run is watched from start to end in the list, without a reload', async () => {
  requireProgram('chromium')
  await using opened = await suite.open()
  const { page, problems } = opened
  await page.getByText('Live', { exact: true }).waitFor()
  const run_id = await suite.startTask('Translate onboarding, slowly', ['i18n'])
  const row = page.locator(`[data-run="${run_id}"]`)
  await row.locator('.column-state').getByText('Running').waitFor()
  await row.getByText('i18n').waitFor()
  await row.locator('.column-state').getByText('Completed').waitFor()
  await page.getByText('Today').waitFor()
  expect(problems).toEqual([])
})

test('WB12 keyboard only: filter, move, start a run, cancel it after a question, open it, list of keys', async () => {
  requireProgram('chromium')
  await suite.startTask('Fix flaky test', ['portal'])
  await using opened = await suite.open()
  const { page, problems } = opened
  await page.locator('.run-row').first().waitFor()
  const { keyboard } = page
  await keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keys' })
  await help.getByText('Next run').waitFor()
  // The filter of the list has the key of the search.
  expect(await help.locator('dt', { hasText: '/' }).count()).toBe(1)
  await keyboard.press('Escape')
  await keyboard.press('/')
  await keyboard.type('tag:portal')
  await page.waitForURL('**/runs?q=tag:portal')
  await expect.poll(() => page.locator('.run-row').count()).toBe(1)
  await keyboard.press('Escape')
  await page.waitForURL('**/runs')
  await keyboard.press('Escape')
  await keyboard.press('j')
  await expect
    .poll(() => page.evaluate(`document.activeElement.closest('tr')?.getAttribute('aria-current')`))
    .toBe('true')
  await page.getByRole('button', { name: 'New run' }).focus()
  await keyboard.press('Enter')
  await keyboard.type('Which queue do we take? which queue')
  for (let step = 0; step < 5 && (await page.evaluate('document.activeElement.textContent')) !== 'Start'; step += 1)
    await keyboard.press('Tab')
  await keyboard.press('Enter')
  await page.waitForURL(/\/runs\/r_/)
  await keyboard.press('g')
  await keyboard.press('r')
  const row = page.locator('.run-row', { hasText: 'Which queue do we take?' })
  await row.locator('.column-state').getByText('Needs you').waitFor()
  await page.locator('#main').focus()
  await keyboard.press('j')
  await keyboard.press('x')
  await page.getByText('1 selected').first().waitFor()
  await keyboard.press('c')
  const dialog = page.getByRole('dialog', { name: 'Cancel this run?' })
  await dialog.getByText('Which queue do we take?').waitFor()
  await dialog.getByRole('button', { name: 'Cancel the run' }).focus()
  await keyboard.press('Enter')
  await page
    .locator('.run-row', { hasText: 'Which queue do we take?' })
    .locator('.column-state')
    .getByText('Cancelled')
    .waitFor()
  expect(problems).toEqual([])
})

test('WB13 the server is killed and started again: the page says so, reconnects and shows what happened meanwhile', async () => {
  requireProgram('chromium')
  await using opened = await suite.open()
  const { page, problems } = opened
  await page.getByText('Live', { exact: true }).waitFor()
  const run_id = await suite.startTask('Translate it slowly after a restart')
  const row = page.locator(`[data-run="${run_id}"]`)
  await row.locator('.column-state').getByText('Running').waitFor()
  await suite.serve.restart({ whileDown: () => page.getByText(/^Reconnecting, last event \d\d:\d\d:\d\d$/).waitFor() })
  await page.getByText('Live', { exact: true }).waitFor()
  await row.locator('.column-state').getByText('Completed').waitFor()
  expect(problems).toEqual([])
})

test('WB14 dark theme is remembered; at 400 px nothing is wider than the page', async () => {
  requireProgram('chromium')
  await using opened = await suite.open('', { viewport: { width: 400, height: 860 }, colorScheme: 'light' })
  const { page } = opened
  await page.locator('.run-row').first().waitFor()
  const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  const light = await ground()
  await page.keyboard.press('t')
  await expect.poll(ground).not.toBe(light)
  await page.reload()
  await page.locator('.run-row').first().waitFor()
  expect(await ground()).not.toBe(light)
  for (const [name, path] of [
    ['Inbox', '/inbox'],
    ['Metrics', '/metrics'],
    ['Runs', '/runs'],
  ] as const) {
    await page.getByRole('link', { name, exact: true }).click()
    await page.waitForURL(`**${path}`)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(400)
  }
})
