import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { requireProgram } from '../support/require-program.ts'
import { sampleScript } from './sample-runs.ts'
import { useServe } from './serve-suite.ts'

/* The controls of a run in a real browser, against a real server that executes the runs. */

const TEAM = {
  name: 'Desk',
  agents: [{ name: 'writer' }, { name: 'reviewer' }, { name: 'publisher' }],
  handoffs: [
    { from_agent: 'writer', to_agent: 'reviewer', condition: 'not done' },
    { from_agent: 'reviewer', to_agent: 'writer', condition: 'not done' },
  ],
  context_variables: { done: false, tone: 0 },
  after_work_behavior: 'terminate',
}
const script = {
  rules: [
    { when: { says: 'for long' }, reply: { text: 'At last.', delayMs: 600_000 } },
    ...['writer', 'reviewer'].map((agent) => ({
      when: { agent },
      reply: { text: `Said by ${agent}.`, delayMs: 1_500 },
    })),
    { when: { agent: 'publisher' }, reply: { text: 'It is out.' } },
    ...sampleScript.rules,
  ],
}

const suite = useServe({ script })

const status = async (run_id: string) =>
  (await suite.serve.api<{ status: string }>('GET', `/api/runs/${run_id}`)).status
const journal = async (run_id: string) =>
  JSON.stringify(
    (await suite.serve.api<{ events: unknown[] }>('GET', `/api/runs/${run_id}/events?after=0&limit=1000`)).events,
  )
/** The command line executes it; the page reaches it through the store. */
async function startTeam(): Promise<string> {
  const [file, scriptFile] = [join(suite.serve.folder, 'desk.json'), join(suite.serve.folder, 'script.json')]
  await writeFile(file, JSON.stringify(TEAM))
  const main = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
  const options = ['--team', file, '--model', `scripted:${scriptFile}`, '--store', join(suite.serve.folder, 'store')]
  const child = spawn(process.execPath, [main, 'run', 'team', 'Write it.', '--no-tools', ...options], {
    env: { PATH: process.env.PATH, HOME: suite.serve.folder, NO_COLOR: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  return new Promise((resolve, reject) => {
    let text = ''
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      const [, run_id] = /run (r_[0-9a-f]{12}) started/.exec(text) ?? []
      if (run_id !== undefined) resolve(run_id)
    })
    child.once('exit', () => reject(new Error(text)))
  })
}

const chip = (page: Page, text: string) => page.locator('.run-title-row .state-chip', { hasText: text })

test('WR33 a run is cancelled from its page with the keyboard, after a question', async () => {
  requireProgram('chromium')
  const run_id = await suite.startTask('work for long')
  await using opened = await suite.open(`/runs/${run_id}`)
  const { page, problems } = opened
  await page.locator('.agent-card').first().waitFor()
  await page.keyboard.press('c')
  const dialog = page.getByRole('dialog', { name: 'Cancel this run?' })
  await dialog.getByRole('button', { name: 'Cancel the run' }).click()
  await chip(page, 'Cancelled').waitFor()
  expect(await status(run_id)).toBe('cancelled')
  await expect.poll(() => page.locator('.run-controls', { hasText: 'Cancel' }).count()).toBe(0)
  expect(problems).toEqual([])
})

test('WR33 a run that failed is resumed from its page, and one that ended is forked from a selected place', async () => {
  requireProgram('chromium')
  const failed = await suite.startTask('this fails')
  await suite.reaches(failed, 'failed')
  await using opened = await suite.open(`/runs/${failed}`)
  const { page } = opened
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
  await expect.poll(() => journal(failed)).toContain('"run:reopen"')
  const done = await suite.startTask('Summarise it')
  await suite.reaches(done, 'completed')
  await page.goto(`${suite.serve.address}/runs/${done}?seq=3`)
  await page.getByText('Decisions are disabled.').waitFor()
  await page.getByRole('button', { name: 'Fork' }).click()
  const dialog = page.getByRole('dialog', { name: 'Fork this run' })
  expect(await dialog.getByRole('spinbutton').inputValue()).toBe('3')
  await dialog.getByRole('button', { name: 'Fork' }).click()
  await page.waitForURL((url) => !url.pathname.includes(done))
  const [, fork = ''] = /runs\/(r_\w+)/.exec(page.url()) ?? []
  await suite.reaches(fork, 'completed')
})

test('WR33 a team is told something, a variable is set, and the next agent is chosen, all from the page', async () => {
  requireProgram('chromium')
  const run_id = await startTeam()
  await using opened = await suite.open(`/runs/${run_id}`)
  const { page, problems } = opened
  const steer = async (kind: string, fill: (page: Page) => Promise<void>, action: string) => {
    await page.getByRole('button', { name: 'Say something' }).click()
    const dialog = page.getByRole('dialog', { name: 'Say something' })
    await dialog.getByRole('button', { name: kind }).click()
    await fill(page)
    await dialog.getByRole('button', { name: action, exact: true }).click()
    await expect.poll(() => dialog.count()).toBe(0)
  }
  await steer('Message', (at) => at.getByRole('textbox').last().fill('Keep it short, please.'), 'Send')
  const fillVariable = async (at: Page) => {
    await at.getByLabel('Variable', { exact: true }).last().fill('tone')
    await at.getByLabel(/^Value/).fill('7')
  }
  await steer('Variable', fillVariable, 'Set')
  await steer('Next agent', (at) => at.getByLabel(/^Agent that acts next/).fill('publisher'), 'Override')
  await chip(page, 'Completed').waitFor()
  const events = await journal(run_id)
  expect(events).toContain('Keep it short, please.')
  expect(events).toContain('It is out.')
  expect(events).toMatch(/"tone"[^}]*7/)
  expect(problems).toEqual([])
})
