import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { requireProgram } from '../support/require-program.ts'
import { seriousIssues } from './axe.ts'
import { collectProblems, openPage, saveScreenshot } from './browser.ts'
import { checkStops, focusOn, focusStop } from './focus.ts'
import { sampleScript } from './sample-runs.ts'
import { startServe } from './serve-process.ts'
import { useServe } from './serve-suite.ts'

/* Questions in a real browser, against a real server. One browser and one server for the file. */

/** More lines than the page draws at first, and more characters than the server sends at once. */
const content = Array.from({ length: 4_000 }, (_, line) => `line ${line} ${'x'.repeat(60)}`).join('\n')
const writeRule = (says: string, file_path: string) => ({
  when: { agent: 'default', turn: 1, says },
  reply: { toolCalls: [{ name: 'Write', input: { file_path, content } }] },
})
const script = {
  rules: [
    writeRule('very long file', 'long.txt'),
    writeRule('unwanted long file', 'unwanted.txt'),
    {
      when: { agent: 'default', turn: 1, says: 'long question' },
      reply: { toolCalls: [{ name: 'ask_user', input: { question: `Go on? ${'word '.repeat(5_000)}the end` } }] },
    },
    ...sampleScript.rules,
  ],
}

const CHANGED = { error: { code: 'question_changed', message: 'this answer is for another question' } }

const suite = useServe({ script, args: ['--ask', 'Write'] })

interface Question {
  gate_id: string
  question: string
  run: { run_id: string }
}

const questions = () => suite.serve.api<Question[]>('GET', '/api/inbox')

/** Starts a run that asks, and waits for its question. */
async function startAsking(instruction: string): Promise<Question> {
  const run_id = await suite.startTask(instruction)
  return expect
    .poll(async () => (await questions()).find(({ run }) => run.run_id === run_id))
    .toBeDefined()
    .then(async () => (await questions()).find(({ run }) => run.run_id === run_id) as Question)
}

const openInbox = (question: Question, options: Parameters<typeof openPage>[2] = {}) =>
  suite.open(`/inbox/${question.gate_id}`, options)
const runStatus = async ({ run }: Question) =>
  (await suite.serve.api<{ status: string }>('GET', `/api/runs/${run.run_id}`)).status

test('WB15 a question is answered on the page with a key, after the lock, and the run goes on', async () => {
  requireProgram('chromium')
  const question = await startAsking('Add password reset by e-mail')
  await using opened = await suite.open()
  const { page, problems } = opened
  await page.locator('.run-row').first().waitFor()
  // The clock of the page stands still, so that the lock cannot pass before it is checked.
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 60_000)
  await pressKeys(page, 'g', 'i')
  await page.getByRole('heading', { name: /May default call Write/ }).waitFor()
  await expect.poll(() => page.title()).toMatch(/^\(1\) Inbox/)
  const allow = page.getByRole('button', { name: 'Allow' })
  expect(await allow.isDisabled()).toBe(true)
  await page.keyboard.press('a')
  await page.clock.runFor(499)
  expect(await allow.isDisabled()).toBe(true)
  await page.keyboard.press('a')
  await page.clock.resume()
  await page.locator('.decision-bar:not([data-locked])').waitFor()
  expect(await runStatus(question)).toBe('waiting')
  await page.keyboard.press('a')
  await page.getByText('No open questions.').waitFor()
  await expect.poll(() => runStatus(question)).toBe('completed')
  await expect.poll(() => page.title()).toBe('Inbox · Troupe')
  expect(problems).toEqual([])
})

test('WB15 the buttons lock again when the page changes its size', async () => {
  requireProgram('chromium')
  const question = await startAsking('which queue, after a resize')
  await using opened = await openInbox(question)
  const { page } = opened
  await page.locator('.decision-bar:not([data-locked])').waitFor()
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 60_000)
  await page.setViewportSize({ width: 1200, height: 800 })
  await page.locator('.decision-bar[data-locked]').waitFor()
  await page.clock.resume()
  await page.locator('.decision-bar:not([data-locked])').waitFor()
  await page.getByRole('button', { name: 'NATS' }).click()
  await expect.poll(() => runStatus(question)).toBe('completed')
})

test('WB37 a change that is not shown whole locks the answers, by button and by key, until the rest is shown', async () => {
  requireProgram('chromium')
  const question = await startAsking('write a very long file')
  await using opened = await openInbox(question, { viewport: { width: 400, height: 860 } })
  const { page } = opened
  await page.getByText('Show the rest above, then decide.').waitFor()
  const allow = page.getByRole('button', { name: 'Allow' })
  const lastLine = page.locator('.diff-add', { hasText: 'line 3999 ' })
  const more = page.getByRole('button', { name: /^Show (the rest|more)$/ })
  let clicks = 0
  while ((await more.count()) > 0) {
    expect([clicks, await lastLine.count()]).toEqual([clicks, clicks < 2 ? 0 : 1])
    await page.keyboard.press('a')
    expect(await allow.isDisabled()).toBe(true)
    clicks += 1
    await more.first().click()
    await expect.poll(() => page.locator('.rest-notice button:disabled').count()).toBe(0)
  }
  // The lines that were not drawn and those that were not sent, of the diff; the input does not repeat them.
  expect(clicks).toBe(2)
  expect(await page.locator('.diff-add').count()).toBe(4_000)
  expect(await page.evaluate('document.documentElement.scrollHeight - innerHeight')).toBe(0)
  await page.locator('.decision-bar:not([data-locked])').waitFor()
  expect(await runStatus(question)).toBe('waiting')
  await page.keyboard.press('a')
  await expect.poll(() => runStatus(question)).toBe('completed')
})

test('WB40 a call can be denied at once, also before it is shown whole; a double click denies one question', async () => {
  requireProgram('chromium')
  const long = await startAsking('an unwanted long file')
  await using opened = await openInbox(long)
  const { page } = opened
  await page.getByText('Show the rest above, then decide. Deny works at once.').waitFor()
  expect(await page.getByRole('button', { name: 'Allow' }).isDisabled()).toBe(true)
  expect(await page.getByRole('button', { name: 'Deny' }).isEnabled()).toBe(true)
  await page.keyboard.press('d')
  await expect.poll(() => runStatus(long)).toBe('completed')
  const [first, second] = [await startAsking('an unwanted long file, 1'), await startAsking('an unwanted long file, 2')]
  await page.goto(`${suite.serve.address}/inbox/${first.gate_id}`)
  await page.getByRole('button', { name: 'Deny' }).dblclick()
  await expect.poll(() => runStatus(first)).toBe('completed')
  expect(await runStatus(second)).toBe('waiting')
  await page.goto(`${suite.serve.address}/inbox/${second.gate_id}`)
  await page.getByRole('button', { name: 'Deny' }).waitFor()
  await page.keyboard.press('d')
  await expect.poll(() => runStatus(second)).toBe('completed')
})

test('WB37 a part that cannot be loaded keeps the answers locked, and a long question is not cut', async () => {
  requireProgram('chromium')
  const file = await startAsking('an unwanted long file, and a broken connection')
  await using opened = await openInbox(file)
  const { page } = opened
  await page.getByText('Show the rest above, then decide.').waitFor()
  await page.getByRole('button', { name: 'Show the rest' }).first().click()
  await page.route('**/blocks/**', (route) => route.fulfill({ status: 409, json: CHANGED }))
  await page.getByRole('button', { name: 'Show more' }).first().click()
  await page.getByText('this answer is for another question Try again.').waitFor()
  expect(await page.getByRole('button', { name: 'Allow' }).isDisabled()).toBe(true)
  const asked = await startAsking('a long question')
  await page.goto(`${suite.serve.address}/inbox/${asked.gate_id}`)
  await page.getByText('Show the rest above, then decide.').waitFor()
  expect(await page.getByText('the end').count()).toBe(0)
  await page.getByRole('button', { name: 'Show the rest' }).click()
  await page.getByText('the end').waitFor()
  await page.locator('.decision-bar:not([data-locked])').waitFor()
})

test('WB17 two tabs: an answer in one is told in the other, which survived a reload', async () => {
  requireProgram('chromium')
  const question = await startAsking('which queue, in two tabs')
  await using opened = await openInbox(question)
  const { page, context, problems } = opened
  const other = await context.newPage()
  problems.push(...collectProblems(other))
  await other.goto(`${suite.serve.address}/inbox/${question.gate_id}`)
  await other.getByRole('button', { name: 'SQS' }).waitFor()
  await other.reload()
  await other.getByRole('button', { name: 'SQS' }).waitFor()
  await page.locator('.decision-bar:not([data-locked])').waitFor()
  await page.getByRole('button', { name: 'Postgres' }).click()
  await other.getByText('This question was answered elsewhere.').waitFor()
  expect(await other.locator('.decision-bar').count()).toBe(0)
  await expect.poll(() => runStatus(question)).toBe('completed')
  expect(problems).toEqual([])
})

test('WB18 an answer to a question that has changed is refused; the page says so and shows the new one', async () => {
  requireProgram('chromium')
  const question = await startAsking('which queue, changed meanwhile')
  await using opened = await openInbox(question)
  const { page } = opened
  await page.getByRole('button', { name: 'NATS' }).waitFor()
  // The page was shown another question than the one that is open now.
  await page.route('**/api/inbox', async (route) => {
    const response = await route.fetch()
    const items = (await response.json()) as Record<string, unknown>[]
    await route.fulfill({ response, json: items.map((item) => ({ ...item, hash: 'f'.repeat(64) })) })
  })
  await page.reload()
  await page.locator('.decision-bar:not([data-locked])').waitFor()
  await page.unroute('**/api/inbox')
  await page.getByRole('button', { name: 'NATS' }).click()
  await page.getByText('The question changed while you looked at it.').waitFor()
  expect(await runStatus(question)).toBe('waiting')
  await page.locator('.decision-bar:not([data-locked])').waitFor()
  await page.getByRole('button', { name: 'NATS' }).click()
  await expect.poll(() => runStatus(question)).toBe('completed')
})

async function pressKeys(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key)
}

test('WB36 keyboard only, from the list through lanes, detail, tabs and replay to an answer and back', async () => {
  requireProgram('chromium')
  const question = await startAsking('Add password reset by e-mail, with the keyboard')
  await using opened = await suite.open()
  const { page, problems } = opened
  const spoken = page.getByRole('status').first()
  await page.locator('.run-row').first().waitFor()
  await checkStops(page, ['a Runs', 'input Filter runs', 'button New run'])
  await pressKeys(page, 'j')
  expect(await focusStop(page)).toMatchObject({ name: expect.stringMatching(/with the keyboard/), visible: true })
  await pressKeys(page, 'Enter')
  await page.getByRole('heading', { level: 1, name: /with the keyboard/ }).waitFor()
  await expect.poll(() => spoken.textContent()).toMatch(/with the keyboard: Needs you/)

  // Every stop of the page shows the focus, and Tab leaves each of them.
  await checkStops(page, [
    'a Messages',
    'a Answer',
    'application Lanes',
    'button Replay',
    'slider Time',
    'treegrid Agents',
  ])
  for (const [role, name] of [
    ['banner', ''],
    ['main', ''],
    ['navigation', 'Views of the run'],
    ['list', 'Agents'],
    ['region', 'Swimlanes'],
    ['region', 'Messages'],
  ] as const)
    expect(await page.getByRole(role, name === '' ? {} : { name }).count(), `${role} ${name}`).toBe(1)

  // Lane, turn, call, and the detail of it.
  await focusOn(page, 'application Lanes')
  await pressKeys(page, 'ArrowRight')
  await page.waitForURL(/at=turn:/)
  await expect.poll(() => spoken.textContent()).toMatch(/^default, Turn 1.*, 1 of \d, Completed, /)
  await pressKeys(page, 'Enter')
  await page.waitForURL(/at=call:/)
  await pressKeys(page, 'Backspace', 'ArrowDown')
  await expect.poll(() => spoken.textContent()).toMatch(/^researcher, /)
  const detail = page.getByRole('complementary', { name: 'Detail' })
  await detail.getByRole('heading', { level: 2 }).waitFor()
  await pressKeys(page, 'd')
  expect(await focusStop(page)).toMatchObject({ name: 'aside Detail', visible: true })
  await pressKeys(page, 'Tab')
  expect(await focusStop(page)).toMatchObject({ name: 'separator Width of the detail', visible: true })
  await pressKeys(page, 'Escape')
  await expect.poll(() => detail.count()).toBe(0)
  await expect.poll(async () => (await focusStop(page))?.name).toMatch(/^application Lanes/)
  await replayWithKeys(page)

  // Tabs, then the question, its answer, and the list again.
  for (const tab of ['Messages', 'Cost', 'Events', 'Timeline']) {
    await focusOn(page, `a ${tab}`)
    await pressKeys(page, 'Enter')
    await page.locator('.run-tabs [aria-current]', { hasText: tab }).waitFor()
  }
  await focusOn(page, 'a Answer')
  await pressKeys(page, 'Enter')
  await page.locator('.decision-bar:not([data-locked])').waitFor()
  await focusOn(page, 'button Allow')
  await pressKeys(page, 'Enter')
  await expect.poll(() => runStatus(question)).toBe('completed')
  await expect.poll(() => spoken.textContent()).toContain('Answered: allow')
  await pressKeys(page, 'g', 'r')
  await page.waitForURL('**/runs')
  expect(problems).toEqual([])
})

/** Scrubs, steps, changes the speed, plays to the end and leaves. */
async function replayWithKeys(page: Page): Promise<void> {
  const showing = (seq: string | number) => page.locator('.run-notice', { hasText: new RegExp(`, event ${seq} of`) })
  await focusOn(page, 'slider Time')
  await pressKeys(page, 'Home')
  await showing(1).waitFor()
  expect(await page.getByRole('link', { name: 'Answer' }).count()).toBe(0)
  await pressKeys(page, 'ArrowRight', 'PageUp')
  await showing(12).waitFor()
  await focusOn(page, 'button One event back')
  await pressKeys(page, 'Enter')
  await showing(11).waitFor()
  await pressKeys(page, '<', '<', '<', '<')
  await page.getByRole('button', { name: '1×', exact: true }).waitFor()
  await focusOn(page, 'button Replay')
  await pressKeys(page, 'Space')
  await page.getByRole('button', { name: 'Pause the replay' }).waitFor()
  await pressKeys(page, ...Array(6).fill('>'))
  await expect.poll(() => showing('\\d+').count()).toBe(0)
  expect(await focusStop(page)).toMatchObject({ name: expect.stringMatching(/^button Replay/), visible: true })
}

test('WB19 axe finds no serious issue on runs, inbox and metrics, in both themes and at 400 px', async () => {
  requireProgram('chromium')
  const question = await startAsking('which queue, with axe')
  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', 1440],
    ['light', 400],
  ] as const) {
    await using opened = await openInbox(question, { colorScheme, viewport: { width, height: 860 } })
    const { page } = opened
    await page.locator('.decision-bar:not([data-locked])').waitFor()
    expect(await seriousIssues(page)).toEqual([])
    await saveScreenshot(page, `inbox-${colorScheme}-${width}`)
    await pressKeys(page, 'g', 'r')
    await page.locator('.run-row').first().waitFor()
    expect(await seriousIssues(page)).toEqual([])
    await saveScreenshot(page, `runs-${colorScheme}-${width}`)
    await pressKeys(page, 'g', 'm')
    await page.getByRole('heading', { name: 'Metrics' }).waitFor()
    expect(await seriousIssues(page)).toEqual([])
  }
})

test('WB22 a token without the scope `approve` shows the question and no way to answer it', async () => {
  requireProgram('chromium')
  await using reader = await startServe({ script: sampleScript, args: ['--token-scopes', 'read,run'] })
  const input = { agent: 'default', instruction: 'which queue, read-only' }
  await reader.api('POST', '/api/patterns/task/runs', { input })
  await using opened = await openPage(suite.browser, reader.pageAddress.replace('/#', '/inbox#'))
  const { page } = opened
  await page.getByText('Your token may not approve.').waitFor()
  expect(await page.locator('.decision-bar button').count()).toBe(0)
})
