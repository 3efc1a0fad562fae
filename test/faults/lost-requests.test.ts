import { expect, onTestFinished, test } from 'vitest'
import type { Event } from '../../src/kernel/event.ts'
import { createCliFixture } from '../e2e/cli-fixture.ts'
import { eventData } from '../support/manual-doubles.ts'
import { startWireDouble } from './wire-double.ts'

const agentFile = (name: string) => `---\nname: ${name}\ndescription: the ${name}\n---\nYou are the ${name}.\n`
const CHILDREN = 16

test('B8 sixteen requests in flight at a kill count what they can have cost by then, and the run goes on', async () => {
  const fixture = await createCliFixture()
  const wire = await startWireDouble(({ agent, turn }) => {
    if (agent === 'worker') return { delayMs: 60_000 }
    const task = (_: unknown, n: number) => ({ name: 'task', input: { agent: 'worker', instruction: `part ${n}` } })
    return turn === 1 ? { calls: Array.from({ length: CHILDREN }, task) } : { text: 'all done' }
  })
  onTestFinished(() => wire.close())
  await fixture.write('agents/lead.md', agentFile('lead'))
  await fixture.write('agents/worker.md', agentFile('worker'))
  const { env } = wire
  const argv = ['--agents', 'agents']
  const run = fixture.startWith({ env }, 'run', 'task', '--agent', 'lead', 'go', '--model', 'compatible/m', ...argv)
  const [, run_id = ''] = await run.waitFor(/run (r_\w+) started/)
  await expect.poll(() => wire.requests.length, { timeout: 15_000 }).toBe(1 + CHILDREN)
  run.kill('SIGKILL')
  await run.done
  wire.reply = ({ agent }) => ({ text: agent === 'lead' ? 'all done' : 'part done' })
  const resumed = await fixture.troupeWith({ env }, 'resume', run_id, ...argv)
  expect(resumed).toMatchObject({ code: 0, out: expect.stringContaining('all done') })
  const { out } = await fixture.troupe('show', run_id, '--events', '--json')
  const events = out.split('\n').flatMap((line) => (line ? [JSON.parse(line) as Event] : []))
  const tokens = (begins: { reserved: { tokens: number } }[]) =>
    begins.reduce((sum, { reserved }) => sum + reserved.tokens, 0)
  const lost = eventData(events, 'model:lost')
  const begun = eventData(events, 'model:begin').filter(({ key }) => lost.some((call) => call.key === key))
  expect(lost).toHaveLength(CHILDREN)
  expect(begun).toHaveLength(2 * CHILDREN)
  expect(tokens(lost)).toBeLessThan(tokens(begun) / 4)
})
