import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findProgram } from '../../src/tools/search/ripgrep.ts'
import { requireProgram } from '../support/require-program.ts'
import { launchBrowser, openPage } from './browser.ts'
import type { ServeProcess } from './serve-process.ts'
import { startServe } from './serve-process.ts'

/* Text of models, tools and repositories that tries to run, to hide or to deceive, in every field that the list and the inbox show. */

const PLANTED = [
  `<img src=x onerror="document.title='run'">`,
  `<svg onload="document.title='run'"><script>document.title='run'</script></svg>`,
  `</script><script>document.title='run'</script>`,
  `[link](javascript:document.title='run') ![image](https://planted.example/a.png)`,
  `\u001b]0;title\u0007\u001b[31mred`,
  `user\u202egnp.exe \u2066hidden\u2069 \u200bzero`,
].join(' ')
const LONG = 'x'.repeat(300_000)

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let browser: Browser
let serve: ServeProcess

beforeAll(async () => {
  if (findProgram('chromium') === undefined) return
  const script = {
    rules: [
      {
        when: { agent: 'default', turn: 1 },
        reply: {
          text: PLANTED,
          toolCalls: [
            {
              name: 'ask_user',
              input: { question: `${PLANTED}\n${LONG.slice(0, 50_000)}`, choices: [PLANTED.slice(0, 60), 'yes'] },
            },
          ],
        },
      },
      { reply: { text: PLANTED } },
    ],
  }
  ;[browser, serve] = await Promise.all([launchBrowser(), startServe({ script })])
})
afterAll(async () => {
  await browser?.close()
  await serve?.[Symbol.asyncDispose]()
})

test('WB20 planted text is shown, never executed, and nothing is asked of other hosts', async () => {
  requireProgram('chromium')
  const instruction = `${PLANTED} ${LONG}`
  const tags = [`<img src=x onerror="document.title='run'">`, '<b>tag</b>']
  await serve.api('POST', '/api/patterns/task/runs', { input: { agent: 'default', instruction }, tags })
  await expect.poll(async () => (await serve.api<unknown[]>('GET', '/api/inbox')).length, { timeout: 10_000 }).toBe(1)
  await using opened = await openPage(browser, serve.pageAddress)
  const { page, problems } = opened
  const foreign: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(serve.address)) foreign.push(request.url())
  })
  const row = page.locator('.run-row').first()
  await row.waitFor()
  const shown = await row.textContent()
  expect(shown).toContain('<img src=x onerror=')
  expect(await row.locator('a').getAttribute('title')).toMatch(/^<img/)
  await page.getByRole('link', { name: /^Inbox/ }).click()
  await page.getByRole('button', { name: 'Yes' }).waitFor()
  const question = await page.locator('.question-body').textContent()
  expect(question).toContain('</script>')
  expect(question).toContain('␛]0;title␇')
  expect(question).toContain('user⟨U+202E⟩gnp.exe ⟨U+2066⟩hidden⟨U+2069⟩ ⟨U+200B⟩zero')
  expect(await page.locator('img, svg[onload], script:not([src]), iframe, object, embed').count()).toBe(0)
  expect(await page.locator('a[href^="javascript" i]').count()).toBe(0)
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await page.locator('.decision-bar:not([data-locked])').waitFor()
  await page.getByRole('button', { name: 'Yes' }).click()
  await page.getByText('No open questions.').waitFor()
  expect(await page.title()).not.toBe('run')
  expect(foreign).toEqual([])
  expect(problems).toEqual([])
})
