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
/** Elements that the page itself never has: they would load or run something. */
const ACTIVE = 'img, svg[onload], script:not([src]), iframe, object, embed, a[href^="javascript" i]'

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
  const { run_id } = await serve.api<{ run_id: string }>('POST', '/api/patterns/task/runs', {
    input: { agent: 'default', instruction },
    tags,
  })
  await expect.poll(async () => (await serve.api<unknown[]>('GET', '/api/inbox')).length).toBe(1)
  await using opened = await openPage(browser, serve.pageAddress)
  const { page, problems, requests } = opened
  const foreign = () => requests.filter((url) => new URL(url).origin !== serve.address)
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
  expect(await page.locator(ACTIVE).count()).toBe(0)
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await page.getByRole('button', { name: 'Show the rest' }).click()
  await page.locator('.decision-bar:not([data-locked])').waitFor()
  await page.getByRole('button', { name: 'Yes' }).click()
  await page.getByText('No open questions.').waitFor()
  await expect
    .poll(async () => (await serve.api<{ status: string }>('GET', `/api/runs/${run_id}`)).status)
    .toBe('completed')
  const turn = await lastTurn(run_id)
  for (const path of ['', `?at=turn:${encodeURIComponent(turn)}`, '/table', '/messages', '/cost', '/events']) {
    await page.goto(`${serve.address}/runs/${run_id}${path}`)
    await page.getByText('<img src=x onerror=').first().waitFor({ state: 'attached' })
    expect([path, await page.locator(ACTIVE).count()]).toEqual([path, 0])
    expect([path, await page.title()]).not.toEqual([path, 'run'])
  }
  expect(requests.length).toBeGreaterThan(10)
  expect(foreign()).toEqual([])
  expect(problems).toEqual([])

  // Controls: the policy of the page refuses such an image, and a request of a page without a policy is counted.
  await page.evaluate(`document.body.append(Object.assign(new Image(), { src: 'https://planted.example/a.png' }))`)
  await expect.poll(() => problems.join()).toMatch(/planted\.example.*Content Security Policy/)
  await page.route('https://planted.example/**', (route) => route.abort())
  await page.goto('data:text/html,<img src="https://planted.example/b.png">')
  await expect.poll(foreign).toContain('https://planted.example/b.png')
})

/** The last turn of a run, by its key. */
async function lastTurn(run_id: string): Promise<string> {
  const { events } = await serve.api<{ events: { type: string; data: { key: string } }[] }>(
    'GET',
    `/api/runs/${run_id}/events?limit=1000`,
  )
  const begin = events.findLast(({ type }) => type === 'model:begin')
  return begin?.data.key.replace(/\/model$/, '') ?? ''
}
