import { cp, mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createCliFixture } from './cli-fixture.ts'
import { startServer } from './mock-provider.ts'
import { RESPONSE_ENCODERS } from './provider-responses.ts'

/* What was really sent, as people read it afterwards: rebuilt from the journal, and as bytes. */

const RUN = [
  'run',
  'task',
  '--agent',
  'lead',
  'Say hello.',
  '--model',
  'compatible/m',
  '--no-tools',
  '--limit',
  'usd=null',
]
const LEAD = '---\nname: lead\ndescription: leads\ntools: [ask_user]\n---\nYou are the lead.\n'

async function runOnce() {
  const cli = await createCliFixture()
  let requests = 0
  const server = await startServer((_request, response) => {
    requests += 1
    if (requests === 1) return void response.writeHead(503, { 'x-request-id': 'req_1', 'retry-after': '0' }).end('{}')
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_2' })
    const encode = RESPONSE_ENCODERS['OpenAI-compatible'] as (response: { text: string }) => string
    response.end(encode({ text: 'Hello.' }))
  })
  onTestFinished(() => server.close())
  const env = {
    ...{ TROUPE_COMPATIBLE_BASE_URL: server.url, TROUPE_COMPATIBLE_API_KEY: 'key-of-the-test', TROUPE_WIRE: 'wire' },
    ...{ COLUMNS: '120', LANG: 'C.UTF-8' },
  }
  await cli.write('agents/lead.md', LEAD)
  const command = (...argv: string[]) => cli.troupeWith({ env }, ...argv)
  const run = await command(...RUN, '--agents', 'agents')
  expect(run).toMatchObject({ code: 0, out: 'Hello.\n' })
  return { cli, run, command }
}

function masked(text: string): string[] {
  return text
    .replaceAll(/\b\d+(\.\d+)?(ms|s)\b/g, 'TIME')
    .replaceAll(/\d+ tokens in, \d+ out/g, 'N tokens')
    .trim()
    .split('\n')
}

test('L104 MO96 show --requests prints each attempt with its facts, request and response; TROUPE_WIRE has the bytes', async () => {
  const { cli, run, command } = await runOnce()
  const shown = await command('show', '--requests')
  const settings = 'settings (rebuilt, not proved)'
  expect(masked(shown.out)).toEqual([
    '── request 1  lead  compatible/m  attempt 1  failed',
    'status 503 · id req_1 · first byte TIME · total TIME · N tokens · $0.00',
    'system prompt and messages: as sent',
    ...['system', '  You are the lead.', 'user', '  Say hello.'],
    ...['tools (names as recorded; schemas of this installation, not proved)', '  ask_user'],
    ...[settings, expect.stringContaining('max_output')],
    ...['error', expect.stringContaining('model_failed: compatible/m returned 503')],
    '',
    '── request 2  lead  compatible/m  attempt 2  completed',
    expect.stringMatching(/^status 200 · id req_2 · first byte TIME · total TIME · stop end · N tokens · \$0\.00$/),
    'system prompt and messages: as sent',
    ...['system', '  as in request 1', 'messages', '  1 message as in request 1'],
    ...['tools (names as recorded; schemas of this installation, not proved)', '  ask_user'],
    ...[settings, expect.stringContaining('max_output')],
    ...['response', '  Hello.'],
  ])
  const [, id = ''] = /(r_[0-9a-f]+)/.exec(run.err) ?? []
  const one = await command('show', id, 'lead', '--requests', '2', '--full')
  expect(one.out).toContain('  Say hello.')
  expect(one.out).toContain('"description"')
  expect((await command('show', '--requests', id)).out).toBe(shown.out)
  const json = JSON.parse((await command('show', '--requests', '--json')).out)
  expect(
    json.map(({ number, response_status, proof }: Record<string, unknown>) => [number, response_status, proof]),
  ).toEqual([
    [1, 503, 'sent'],
    [2, 200, 'sent'],
  ])
  const none = await command('show', id, '--requests', '9')
  expect([none.code, none.err]).toEqual([2, expect.stringContaining('the requests are 1, 2')])
  expect((await command('show', id, 'leed', '--requests')).err).toContain('lead')
  const files = await readdir(join(cli.folder, 'wire'))
  expect(files).toHaveLength(4)
  expect(run.err).toContain('(TROUPE_WIRE)')
  const request = JSON.parse(await cli.read(`wire/${files.find((file) => file.endsWith('2.request.json'))}`))
  expect(request).toMatchObject({ model: 'm', messages: [{ role: 'system' }, { role: 'user', content: 'Say hello.' }] })
})

test('L104 a store that is only read shows its requests', async () => {
  const { cli } = await runOnce()
  const other = await createCliFixture()
  await mkdir(join(other.folder, '.troupe'))
  await cp(join(cli.folder, '.troupe'), join(other.folder, '.troupe'), { recursive: true })
  const { code, out } = await other.troupe('show', '--requests', '1')
  expect([code, out]).toEqual([0, expect.stringContaining('You are the lead.')])
})

test('MO97 a folder that is a link stops the command before anything is sent', async () => {
  const cli = await createCliFixture()
  await mkdir(join(cli.folder, 'elsewhere'))
  await symlink('elsewhere', join(cli.folder, 'wire'))
  const env = { TROUPE_COMPATIBLE_BASE_URL: 'http://127.0.0.1:9', TROUPE_COMPATIBLE_API_KEY: 'k', TROUPE_WIRE: 'wire' }
  const { code, err } = await cli.troupeWith(
    { env },
    'run',
    'task',
    '--agent',
    'default',
    'hi',
    '--model',
    'compatible/m',
  )
  expect([code, err.replaceAll(/\s+/g, ' ')]).toEqual([2, expect.stringMatching(/TROUPE_WIRE: .*wire is a link/)])
})
