import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import type { Event } from '../../src/kernel/event.ts'
import type { CliFixture } from '../e2e/cli-fixture.ts'
import { createCliFixture } from '../e2e/cli-fixture.ts'
import { eventData } from '../support/manual-doubles.ts'
import type { WireDouble, WireReply } from './wire-double.ts'
import { startWireDouble } from './wire-double.ts'

/* A real process is killed with sixteen model requests in flight; its next start books what can have been paid for them. */

const CHILDREN = 16
/** What the double charges for the input of a request, and dollars for a token of input and output. */
const INPUT_TOKENS = 100
const PRICE = { input: 5 / 1e6, output: 25 / 1e6 }

const table: Record<string, object> = {}
afterAll(() => console.table(table))

const agentFile = (name: string, model = '') =>
  `---\nname: ${name}\ndescription: the ${name}\n${model}---\nYou are the ${name}.\n`
const delegation = (_: unknown, n: number) => ({ name: 'task', input: { agent: 'worker', instruction: `part ${n}` } })

interface Interrupted {
  fixture: CliFixture
  wire: WireDouble
  env: Record<string, string>
  workerReply: WireReply
  /** Settles when the process is to be killed. */
  inFlight(): Promise<unknown>
}

/** Kills a run with all its sub-agents at work, and resumes it; returns what was booked for the requests that were lost. */
async function killAndResume({ fixture, wire, env, workerReply, inFlight }: Interrupted) {
  wire.reply = ({ agent, turn }) => {
    if (agent === 'worker') return workerReply
    return turn === 1 ? { calls: Array.from({ length: CHILDREN }, delegation) } : { text: 'all done' }
  }
  const argv = ['--agents', 'agents', '--limit', 'usd=50']
  const run = fixture.startWith({ env }, 'run', 'task', '--agent', 'lead', 'go', '--model', 'compatible/m', ...argv)
  const [, run_id = ''] = await run.waitFor(/run (r_\w+) started/)
  await inFlight()
  run.kill('SIGKILL')
  await run.done
  wire.reply = ({ agent }) => ({ text: agent === 'lead' ? 'all done' : 'part done' })
  const resumed = await fixture.troupeWith(
    { env: { ...env, OPENAI_BASE_URL: wire.url } },
    'resume',
    run_id,
    ...argv.slice(0, 2),
  )
  expect(resumed).toMatchObject({ code: 0, out: expect.stringContaining('all done') })
  const { out } = await fixture.troupe('show', run_id, '--events', '--json')
  const events = out.split('\n').flatMap((line) => (line ? [JSON.parse(line) as Event] : []))
  const lost = eventData(events, 'model:lost')
  expect(lost).toHaveLength(CHILDREN)
  const begun = eventData(events, 'model:begin').filter(({ attempt, key }) =>
    lost.some((call) => call.key === key && call.attempt === attempt),
  )
  return { lost: sum(lost), reserved: sum(begun) }
}

function sum(requests: { reserved: { tokens: number; usd: number } }[]): { tokens: number; usd: number } {
  return requests.reduce(
    ({ tokens, usd }, { reserved }) => ({ tokens: tokens + reserved.tokens, usd: usd + reserved.usd }),
    { tokens: 0, usd: 0 },
  )
}

async function openScenario(workerModel = ''): Promise<Pick<Interrupted, 'fixture' | 'wire' | 'env'>> {
  const fixture = await createCliFixture()
  const wire = await startWireDouble(() => ({}))
  onTestFinished(() => wire.close())
  await fixture.write('agents/lead.md', agentFile('lead'))
  await fixture.write('agents/worker.md', agentFile('worker', workerModel))
  const usd_per_million = { input: PRICE.input * 1e6, output: PRICE.output * 1e6 }
  const prices = ['compatible/m', 'openai/m'].map((model) => ({ model, from: '2020-01-01', usd_per_million }))
  const TROUPE_PRICES = await fixture.write('prices.json', { updated: '2026-01-01', prices })
  return { fixture, wire, env: { ...wire.env, TROUPE_PRICES, OPENAI_API_KEY: 'k' } }
}

function note(when: string, { lost, reserved }: Awaited<ReturnType<typeof killAndResume>>, paid: number): void {
  const usd = (amount: number) => `$${amount.toFixed(4)}`
  table[when] = { reserved: usd(reserved.usd), booked: usd(lost.usd), paid: usd(paid), 'booked tokens': lost.tokens }
  expect(lost.usd).toBeGreaterThanOrEqual(paid)
}

test('B9 requests that were not sent when the process was killed cost nothing', async () => {
  const scenario = await openScenario('model: openai-chat/m\n')
  // Accepts connections and never speaks TLS: no byte of a request can be written.
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => {})))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const OPENAI_BASE_URL = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const booked = await killAndResume({
    ...scenario,
    env: { ...scenario.env, OPENAI_BASE_URL },
    workerReply: {},
    inFlight: () => expect.poll(() => sockets.size).toBe(CHILDREN),
  })
  note('not sent', booked, 0)
  expect(booked.lost).toEqual({ tokens: 0, usd: 0 })
})

test('B8 requests that were sent count their input, and the output of the time until the process ended', async () => {
  const scenario = await openScenario()
  const { wire } = scenario
  const booked = await killAndResume({
    ...scenario,
    workerReply: { delayMs: 60_000 },
    inFlight: () => expect.poll(() => wire.requests.length).toBe(1 + CHILDREN),
  })
  note('sent', booked, CHILDREN * INPUT_TOKENS * PRICE.input)
  expect(booked.lost.tokens).toBeLessThan(booked.reserved.tokens / 2)
})

test('B9 responses that were arriving count what had arrived, and the output of the time without news', async () => {
  const scenario = await openScenario()
  const { wire } = scenario
  const booked = await killAndResume({
    ...scenario,
    workerReply: { drip: 'and so on, '.repeat(4) },
    inFlight: () => expect.poll(() => wire.dripped).toBeGreaterThan(CHILDREN * 800),
  })
  const output = wire.dripped / 4
  note('answering', booked, CHILDREN * INPUT_TOKENS * PRICE.input + output * PRICE.output)
  expect(booked.lost.tokens).toBeLessThan(booked.reserved.tokens / 1.5)
})
