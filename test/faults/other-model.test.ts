import { expect, onTestFinished, test } from 'vitest'
import { createCliFixture } from '../e2e/cli-fixture.ts'
import { startWireDouble } from './wire-double.ts'

test('ND2 L90 a run is not resumed without its model or tools, and not silently with another default model', {
  timeout: 60_000,
}, async () => {
  const fixture = await createCliFixture()
  const wire = await startWireDouble(() => ({ delayMs: 60_000 }))
  onTestFinished(() => wire.close())
  const openai = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: wire.url }
  const run = fixture.startWith({ env: openai }, 'run', 'task', 'go', '--workspace', '.')
  const [, run_id = ''] = await run.waitFor(/run (r_\w+) started/)
  await expect.poll(() => wire.requests.length, { timeout: 15_000 }).toBe(1)
  run.kill('SIGKILL')
  await run.done
  const events = async () => (await fixture.troupe('show', run_id, '--events', '--json')).out
  const before = await events()
  const flat = (text: string) => text.replace(/\s+/g, ' ')
  const withoutModel = await fixture.troupe('resume', run_id, '--workspace', '.')
  expect([withoutModel.code, flat(withoutModel.err)]).toEqual([
    2,
    expect.stringMatching(/lacks what run \w+ needs: models/),
  ])
  const withoutTools = await fixture.troupeWith({ env: openai }, 'resume', run_id, '--no-tools')
  expect([withoutTools.code, flat(withoutTools.err)]).toEqual([2, expect.stringMatching(/needs: workspace tools Read/)])
  expect(await events()).toBe(before)
  wire.reply = () => ({ status: 401 })
  const anthropic = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: wire.url }
  const { err } = await fixture.troupeWith({ env: anthropic }, 'resume', run_id, '--workspace', '.')
  expect(flat(err)).toMatch(/models have changed since \w+ started: .*general was openai\/.*to keep openai/)
})
