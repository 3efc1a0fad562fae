import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { requireSandbox } from '../support/require-program.ts'
import { createCliFixture } from './cli-fixture.ts'

const writeScript = (path: string) => [
  { when: { turn: 1 }, reply: { toolCalls: [{ name: 'Write', input: { file_path: path, content: 'hello\n' } }] } },
  { reply: { text: 'Written.' } },
]

test('L26 a tool with side effects asks for permission with its input, and acts only in the workspace', async () => {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', writeScript('note.txt'))
  const parked = await cli.troupe('run', 'task', '--agent', 'default', 'write', '--model', model)
  expect(parked.code).toBe(3)
  expect(existsSync(join(cli.folder, 'note.txt'))).toBe(false)
  const inbox = await cli.troupe('inbox', '--json')
  const [gate] = JSON.parse(inbox.out) as { gate_id: string; question: string; detail: { input: object } }[]
  expect(gate?.question).toContain('May default call Write(note.txt)?')
  expect(gate?.detail.input).toMatchObject({ content: 'hello\n' })
  const done = await cli.troupe('answer', gate?.gate_id ?? '', 'allow', '--model', model)
  expect(done).toMatchObject({ code: 0, out: 'Written.\n' })
  expect(readFileSync(join(cli.folder, 'note.txt'), 'utf8')).toBe('hello\n')
})

test('L27 a tool permitted by the agent file or a rule runs without a question; a deny rule is final', async () => {
  const cli = await createCliFixture()
  await cli.write('team/scribe.md', '---\nname: scribe\ndescription: writes\ntools: Write\n---\nYou write.\n')
  const model = await cli.script('s.json', writeScript('note.txt'))
  const run = (...more: string[]) => cli.troupe('run', 'task', 'write', '--model', model, '--agents', 'team', ...more)
  expect(await run('--agent', 'scribe')).toMatchObject({ code: 0 })
  expect(existsSync(join(cli.folder, 'note.txt'))).toBe(true)
  expect(await run('--agent', 'default', '--allow', 'Write(*.txt)')).toMatchObject({ code: 0 })
  const denied = await cli.script('d.json', writeScript('secret.env'))
  const refused = await cli.troupe(
    'run',
    'task',
    'write',
    '--agent',
    'scribe',
    '--agents',
    'team',
    '--model',
    denied,
    '--deny',
    'Write(*.env)',
  )
  expect(refused.code).toBe(0)
  expect(existsSync(join(cli.folder, 'secret.env'))).toBe(false)
})

test('L28 commands run in a sandbox of the workspace; --no-tools gives agents no tools', async () => {
  requireSandbox()
  const cli = await createCliFixture()
  const command = 'echo in > inside.txt; echo out > /var/tmp/troupe-outside.txt; cat inside.txt'
  const model = await cli.script('s.json', [
    { when: { turn: 1 }, reply: { toolCalls: [{ name: 'Bash', input: { command } }] } },
    { when: { says: 'unknown_tool' }, reply: { text: 'I have no such tool.' } },
    { reply: { text: 'Ran it.' } },
  ])
  const run = (...more: string[]) => cli.troupe('run', 'task', 'go', '--agent', 'default', '--model', model, ...more)
  expect(await run('--allow', 'Bash')).toMatchObject({ code: 0, out: 'Ran it.\n' })
  expect(readFileSync(join(cli.folder, 'inside.txt'), 'utf8')).toBe('in\n')
  expect(existsSync('/var/tmp/troupe-outside.txt')).toBe(false)
  expect(await run('--no-tools')).toMatchObject({ code: 0, out: 'I have no such tool.\n' })
})

test('TO59 the folder that TROUPE_AGENTS names is protected like the one of --agents', async () => {
  const cli = await createCliFixture()
  await cli.write('team/scribe.md', '---\nname: scribe\ndescription: writes\ntools: Write\n---\nYou write.\n')
  const model = await cli.script('s.json', writeScript('team/evil.md'))
  const options = { env: { TROUPE_AGENTS: 'team' } }
  const done = await cli.troupeWith(options, 'run', 'task', 'go', '--agent', 'scribe', '--model', model)
  expect(done.code).toBe(0)
  expect(existsSync(join(cli.folder, 'team', 'evil.md'))).toBe(false)
})

test('TO66 a run searches with the service of its environment once the host is allowed, and doctor says which', async () => {
  const cli = await createCliFixture()
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams.get('q')
    response.end(JSON.stringify({ results: [{ title: `found ${query}`, url: 'https://a.test', content: 'c' }] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close().closeAllConnections())
  const env = { SEARXNG_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  const model = await cli.script('s.json', [
    { when: { turn: 1 }, reply: { toolCalls: [{ name: 'WebSearch', input: { query: 'owls' } }] } },
    { when: { says: 'found owls' }, reply: { text: 'Found.' } },
    { when: { says: 'network access is disabled' }, reply: { text: 'Disabled.' } },
    { when: { says: 'is not allowed' }, reply: { text: 'Not allowed.' } },
    { when: { says: 'BRAVE_API_KEY' }, reply: { text: 'Not set up.' } },
  ])
  const run = (options: { env?: Record<string, string> }, ...more: string[]) =>
    cli.troupeWith(options, 'run', 'task', 'go', '--agent', 'default', '--model', model, ...more)
  expect((await run({ env })).out).toBe('Disabled.\n')
  expect((await run({ env }, '--allow-host', 'example.org')).out).toBe('Not allowed.\n')
  expect((await run({ env }, '--allow-host', '127.0.0.1')).out).toBe('Found.\n')
  expect((await run({}, '--allow-host', 'example.org')).out).toBe('Not set up.\n')
  const doctor = async (set: Record<string, string>) =>
    (await cli.troupeWith({ env: set }, 'doctor')).out.replaceAll(/\s+/g, ' ')
  expect(await doctor(env)).toContain('search searxng at 127.0.0.1')
  expect(await doctor({ BRAVE_API_KEY: 'k-123' })).toMatch(/search brave at api\.search\.brave\.com(?!.*k-123)/)
  expect(await doctor({})).toContain('set BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL')
  expect(await doctor({ SEARXNG_URL: 'nonsense' })).toContain('SEARXNG_URL is not a valid http or https URL')
})

test('L28 where no sandbox works, agents have no commands, a line says so once a day, and doctor says what is missing', async () => {
  const cli = await createCliFixture()
  const call = { toolCalls: [{ name: 'Bash', input: { command: 'true' } }] }
  const model = await cli.script('s.json', [
    { when: { turn: 1 }, reply: call },
    { when: { says: 'unknown_tool' }, reply: { text: 'I have no such tool.' } },
  ])
  const options = { env: { PATH: cli.folder, HOME: cli.folder } }
  const run = () => cli.troupeWith(options, 'run', 'task', 'go', '--agent', 'default', '--model', model)
  const note = /^no sandbox, so agents cannot run\s+commands:\s+npx\s+--no\s+troupe\s+doctor$/m
  expect(await run()).toMatchObject({ code: 0, out: 'I have no such tool.\n', err: expect.stringMatching(note) })
  expect(await run()).toMatchObject({ code: 0, err: expect.not.stringMatching(note) })
  expect((await cli.troupeWith(options, 'doctor')).out).toMatch(/bwrap|bubblewrap/)
})
