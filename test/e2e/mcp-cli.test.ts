import { expect, test } from 'vitest'
import { createTestServer, isAlive, waitUntil } from '../support/mcp-test-server.ts'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture, singleAnswerScript } from './cli-fixture.ts'

const hangingScript = [
  { when: { turn: 1 }, reply: { toolCalls: [{ name: 'mcp__s__hang', input: {} }] } },
  { when: { says: 'outcome_unknown' }, reply: { text: 'Nobody knows.' } },
]

async function writeConfig(here: CliFixture, servers: Record<string, unknown>): Promise<string[]> {
  return ['--mcp-config', await here.write('mcp.json', { mcpServers: servers })]
}

test('MC34 --mcp-config gives a run its servers, and doctor lists them without starting any', async () => {
  const here = await createCliFixture()
  const scene = createTestServer()
  const servers = { s: scene.config, web: { type: 'http', url: 'https://user:hunter2@example.com/mcp?key=k-123' } }
  const config = await writeConfig(here, servers)
  const checked = await here.troupe('doctor', ...config)
  expect(checked.out).toMatch(/mcp +s · stdio · \S+ …; started/)
  expect(checked.out).toMatch(/mcp +web · http · https:\/\/example.com\/mcp;/)
  expect(checked.out).not.toMatch(/k-123|hunter2/)
  expect(scene.pids()).toEqual([])
  const model = await here.script('s.json', [
    { when: { turn: 1 }, reply: { toolCalls: [{ name: 'mcp__s__echo', input: { text: 'hello' } }] } },
    { when: { says: 'hello' }, reply: { text: 'It said hello.' } },
  ])
  const only = await writeConfig(here, { s: scene.config })
  const done = await here.troupe(
    'run',
    'task',
    '--no-sandbox',
    '--allow',
    'mcp__s',
    '--agent',
    'default',
    'greet',
    '--model',
    model,
    ...only,
  )
  expect(done).toMatchObject({ code: 0, out: 'It said hello.\n' })
  await waitUntil(() => !scene.pids().some(isAlive))
})

test('MC35 a file of servers that cannot be meant is bad usage, before anything starts', async () => {
  const here = await createCliFixture()
  const model = await here.script('s.json', singleAnswerScript('hi'))
  const run = async (content: unknown) => {
    const file = await here.write('mcp.json', content)
    return here.troupe('run', 'task', '--agent', 'default', 'hi', '--model', model, '--mcp-config', file)
  }
  for (const [content, words] of [
    ['{', 'invalid JSON'],
    [[], 'not an object'],
    [{ servers: 7 }, 'the field "mcpServers" is missing'],
    [{ mcpServers: { s: { args: [] } } }, "the MCP server 's' is invalid: the entry needs either `command` or `url`"],
  ] as const) {
    const { code, err } = await run(content)
    expect(code).toBe(2)
    expect(err.replaceAll(/\s+/g, ' ')).toContain(words)
  }
})

test('MC42 a file of servers that is empty means none, and that is said', async () => {
  const here = await createCliFixture()
  const model = await here.script('s.json', singleAnswerScript('hi'))
  for (const content of ['', ' \n']) {
    const file = await here.write('.mcp.json', content)
    const run = await here.troupe('run', 'task', '--agent', 'default', 'x', '--model', model, '--mcp-config', file)
    expect(run).toMatchObject({ code: 0, out: 'hi\n' })
    expect(run.err).toContain('.mcp.json is empty: no MCP servers are configured')
  }
})

/** A run of an agent whose file has an MCP server that uses the variable EXPOSED. */
async function createExposeEnvRun() {
  const here = await createCliFixture()
  const scene = createTestServer()
  const { command, args, env } = scene.config
  const server = { command, args, env: { ...env, TOKEN: `\${EXPOSED}` } }
  await here.write(
    'team/clerk.md',
    `---\nname: clerk\ndescription: d\nmcpServers: ${JSON.stringify({ s: server })}\n---\nWork.\n`,
  )
  const model = await here.script('s.json', [
    { when: { turn: 1 }, reply: { toolCalls: [{ name: 'mcp__s__environment', input: {} }] } },
    { when: { says: 'TOKEN' }, reply: { text: 'It has it.' } },
    { reply: { text: 'It has nothing.' } },
  ])
  return (value: Record<string, string>, ...more: string[]) =>
    here.troupeWith(
      { env: value },
      ...['run', 'task', 'go', '--agent', 'clerk', '--agents', 'team', '--model', model, '--no-sandbox'],
      ...['--allow', 'mcp__s', ...more],
    )
}

test('MC43 --expose-env exposes variables to MCP servers of agent files; an invalid name is refused', async () => {
  const run = await createExposeEnvRun()
  const set = { EXPOSED: 'a-secret-value' }
  const without = await run(set)
  expect(without).toMatchObject({ code: 0, out: 'It has nothing.\n' })
  expect(without.err.replaceAll(/\s+/g, ' ')).toContain('--expose-env EXPOSED')
  const exposed = await run(set, '--expose-env', 'OTHER', '--expose-env', 'EXPOSED')
  expect(exposed).toMatchObject({ code: 0, out: 'It has it.\n' })
  const unset = await run({}, '--expose-env', 'EXPOSED')
  expect(unset.err).toContain('--expose-env EXPOSED: the variable is not set')
  const wrong = await run(set, '--expose-env', 'EXPOSED=a-secret-value')
  expect(wrong).toMatchObject({ code: 2 })
  expect(wrong.err).toContain('--expose-env EXPOSED: not a valid variable name')
  expect(wrong.err).not.toContain('a-secret-value')
})

test('MC43 --lend is a hidden alias of --expose-env', async () => {
  const run = await createExposeEnvRun()
  expect(await run({ EXPOSED: 'a-secret-value' }, '--lend', 'EXPOSED')).toMatchObject({ code: 0, out: 'It has it.\n' })
  const help = await (await createCliFixture()).troupe('run', 'task', '--help')
  expect(help.out).toContain('--expose-env <name>')
  expect(help.out).not.toContain('--lend')
})

test('MC36 a run that was killed between begin and end of an action reports its outcome as unknown', async () => {
  const here = await createCliFixture()
  const scene = createTestServer()
  const config = await writeConfig(here, { s: scene.config })
  const model = await here.script('s.json', hangingScript)
  const running = here.start(
    'run',
    'task',
    '--no-sandbox',
    '--allow',
    'mcp__s',
    '--agent',
    'default',
    'go',
    '--model',
    model,
    ...config,
  )
  running.done.catch(() => {})
  await waitUntil(() => scene.log().includes('call hang'))
  running.kill('SIGKILL')
  await running.done
  await waitUntil(() => !scene.pids().some(isAlive))
  const resumed = await here.troupe('resume', 'r_', '--no-sandbox', '--allow', 'mcp__s', '--model', model, ...config)
  expect(resumed).toMatchObject({ code: 0, out: 'Nobody knows.\n' })
  expect(scene.log().filter((line) => line === 'call hang')).toHaveLength(1)
  expect(scene.pids()).toHaveLength(2)
})
