import type { ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture } from './cli-fixture.ts'
import { startServer } from './mock-provider.ts'
import { RESPONSE_ENCODERS } from './provider-responses.ts'

/* What people read while a request waits, from the process that sends it and from others. */

const RUN = [
  'run',
  'task',
  '--agent',
  'default',
  'hi',
  '--model',
  'compatible/slow',
  '--no-tools',
  '--limit',
  'usd=null',
]

/** A server with these responses, the last of which answers all further requests. */
async function connect(cli: CliFixture, ...responses: ((response: ServerResponse) => void)[]) {
  const counts = { requests: 0 }
  const server = await startServer((_request, response) => {
    const respond = responses[Math.min(counts.requests, responses.length - 1)]
    counts.requests += 1
    respond?.(response)
  })
  onTestFinished(() => server.close())
  const env = {
    TROUPE_COMPATIBLE_BASE_URL: server.url,
    TROUPE_COMPATIBLE_API_KEY: 'a-key',
    COLUMNS: '120',
    LANG: 'C.UTF-8',
  }
  const command = async (...argv: string[]) => cli.troupeWith({ env }, ...argv)
  return { counts, command, start: (...argv: string[]) => cli.startWith({ env }, ...argv) }
}

const silent = () => {}
const refuse = (status: number, headers: Record<string, string>) => (response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end('{"error":{"message":"slow down"}}')
}
const answer = (response: ServerResponse) => {
  const encode = RESPONSE_ENCODERS['OpenAI-compatible'] as (response: { text: string }) => string
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(encode({ text: 'Hello.' }))
}

/** Text without what differs from run to run: ids, durations and times of day. */
function masked(text: string): string[] {
  const lines = text
    .replaceAll(/r_[0-9a-f]+/g, 'RUN')
    .replaceAll(/\d\d:\d\d\b/g, 'HH:MM')
    .replaceAll(/\b(\d+m\d\ds|\d+(\.\d)?(ms| ?s))(?![\w-])/g, 'TIME')
    .split('\n')
  return lines.map((line) => line.replace(/^ +/, '').replace(/ {2,}/g, ' ')).filter((line) => line !== '')
}

describe('a server that accepts and never answers', () => {
  test('L101 L102 TL18 is told in the pipe, by show, runs and watch of other processes, and at Ctrl-C', async () => {
    const cli = await createCliFixture()
    const { command, start } = await connect(cli, silent)
    const run = start(...RUN)
    const [, id = ''] = await run.waitFor(/run (r_\w+) started/)
    const waits = 'default waiting for compatible/slow · TIME, nothing received (gives up after TIME)'
    const show = async () => masked((await command('show', id)).out)
    await expect.poll(show, { timeout: 20_000 }).toContain(waits)
    const [line] = await run.waitFor(/waiting for .*\)/)
    expect(masked(line)).toEqual(['waiting for compatible/slow · TIME, nothing received (gives up after TIME)'])
    expect(masked((await command('runs')).err)).toEqual([`RUN ${waits}`])
    const facts = { agent: 'default', model: 'compatible/slow', state: 'silent', attempt: 1, last_received_at: null }
    const [listed] = JSON.parse((await command('runs', '--json')).out)
    expect(listed.waiting).toMatchObject([facts])
    expect(JSON.parse((await command('show', id, '--json')).out).waiting).toEqual(listed.waiting)
    const watch = start('watch', id, '--json')
    const [told = ''] = await watch.waitFor(/\{"waiting".*/)
    expect(JSON.parse(told)).toMatchObject({ waiting: facts })
    watch.kill('SIGKILL')
    run.kill('SIGINT')
    const [stopping] = await run.waitFor(/stopping: [\s\S]*at once/)
    expect(masked(stopping.replaceAll(/\s+/g, ' '))).toEqual([
      'stopping: waiting for requests in flight: compatible/slow, for up to TIME if nothing arrives; what was sent may already cost; press Ctrl-C again to stop at once',
    ])
    await new Promise((resolve) => setTimeout(resolve, 200))
    run.kill('SIGINT')
    const { code, err } = await run.done
    expect([code, masked(err).at(-1)]).toEqual([130, expect.stringContaining('stopped; resume with:')])
    expect(JSON.parse((await command('show', id, '--json')).out).waiting).toEqual([])
  }, 90_000)
})

describe('a server that is busy', () => {
  test('L103 a retry is one whole line with its reason, attempt and delay', async () => {
    const cli = await createCliFixture()
    const { counts, command } = await connect(cli, refuse(429, { 'retry-after': '1' }), refuse(529, {}), answer)
    const { code, out, err } = await command(...RUN)
    expect([code, out, counts.requests]).toEqual([0, 'Hello.\n', 3])
    expect(masked(err).slice(1, 5)).toEqual([
      'TIME default starts hi',
      'TIME default 429 rate limited; attempt 2 of 4 in TIME',
      'TIME default 529 overloaded; attempt 3 of 4 in TIME',
      expect.stringMatching(/^TIME default ✓ done /),
    ])
  })

  test('MO19 a wait beyond the deadline ends with its time', async () => {
    const cli = await createCliFixture()
    const { counts, command } = await connect(cli, refuse(429, { 'retry-after': '3600' }))
    const { code, err } = await command(...RUN)
    expect([code, counts.requests]).toEqual([1, 1])
    const text = masked(err).join(' ')
    expect(text).toContain('compatible/slow returned 429: slow down')
    expect(text).toContain('the provider asks to wait 60 min, until HH:MM; or choose another `model`')
  })
})
