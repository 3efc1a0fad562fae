import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createTroupe } from '../../src/index.ts'
import { createCliFixture } from '../e2e/cli-fixture.ts'
import { startTestServer } from '../support/http-harness.ts'
import { agent, functionModel } from '../support/test-troupe.ts'
import { startWireDouble } from './wire-double.ts'

test('ND2 L90 a run is not resumed without its model or tools, and not silently with another default model', async () => {
  const fixture = await createCliFixture()
  const wire = await startWireDouble(() => ({ delayMs: 60_000 }))
  onTestFinished(() => wire.close())
  const openai = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: wire.url }
  const run = fixture.startWith({ env: openai }, 'run', 'task', 'go', '--workspace', '.')
  const [, run_id = ''] = await run.waitFor(/run (r_\w+) started/)
  await expect.poll(() => wire.requests.length).toBe(1)
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
  expect(flat(err)).toMatch(
    /models have changed since .*general anthropic\/\S+ instead of openai\/\S+ .*to keep openai/,
  )
  expect(flat((await fixture.troupe('show', run_id)).out)).toMatch(/resumed with other models: .*general anthropic/)
})

test('ND2 the HTTP server neither resumes nor executes a run without its model, also when it is answered there', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-other-model-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const named = (name: string) => ({
    ...functionModel(({ session }) =>
      session.turn === 1 ? { calls: [{ name: 'ask_user', input: { question: 'Which?' } }] } : { text: name },
    ),
    name,
  })
  const agents = [agent('lead', { tools: ['ask_user'] })]
  const program = await createTroupe({ store: join(folder, 'store'), model: named('a'), agents, embedder: false })
  const { run_id } = await program.run('task', { agent: 'lead', instruction: 'go' })
  const before = await program.events(run_id).all()
  await program.close()
  const { call, troupe, stop } = await startTestServer({ folder, troupe: { model: named('b'), agents } })
  const refused = await call(`/api/runs/${run_id}/resume`, {})
  expect([refused.status, refused.text]).toEqual([409, expect.stringMatching(/needs_missing.*models a/)])
  const [question] = (await call('/api/inbox')).json as { gate_id: string; hash: string }[]
  const answer = { answer: 'this one', hash: question?.hash }
  expect((await call(`/api/gates/${question?.gate_id}/answer`, answer)).status).toBe(200)
  expect(await troupe.claim()).toBeUndefined()
  expect(await troupe.events(run_id).all()).toEqual(before)
  await stop()
  const next = await startTestServer({ folder, troupe: { model: named('a'), agents } })
  await expect.poll(async () => (await next.troupe.getRun(run_id)).status).toBe('completed')
})
