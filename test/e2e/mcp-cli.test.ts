import { expect, test } from 'vitest'
import { createTestServer, isAlive, waitUntil } from '../support/mcp-test-server.ts'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture, singleAnswerScript } from './cli-fixture.ts'

const hangingScript = [
  { when: { turn: 1 }, reply: { toolCalls: [{ name: 'mcp__s__hang', input: {} }] } },
  { when: { says: 'outcome_unknown' }, reply: { text: 'The outcome is unknown.' } },
]

async function writeConfig(cli: CliFixture, servers: Record<string, unknown>): Promise<string[]> {
  return ['--mcp-config', await cli.write('mcp.json', { mcpServers: servers })]
}

test('MC34 --mcp-config configures the servers of a run, and doctor lists them without starting them', async () => {
  const cli = await createCliFixture()
  const server = createTestServer()
  const servers = { s: server.config, web: { type: 'http', url: 'https://user:hunter2@example.com/mcp?key=k-123' } }
  const config = await writeConfig(cli, servers)
  const checked = await cli.troupe('doctor', ...config)
  // A long path of this clone wraps the line.
  const unwrapped = checked.out.replace(/\s+/g, ' ')
  expect(unwrapped).toMatch(/mcp s · stdio · .+ …; started/)
  expect(unwrapped).toMatch(/mcp web · http · https:\/\/example.com\/mcp;/)
  expect(checked.out).not.toMatch(/k-123|hunter2/)
  expect(server.pids()).toEqual([])
  const model = await cli.script('s.json', [
    { when: { turn: 1 }, reply: { toolCalls: [{ name: 'mcp__s__echo', input: { text: 'hello' } }] } },
    { when: { says: 'hello' }, reply: { text: 'The result was hello.' } },
  ])
  const stdioOnly = await writeConfig(cli, { s: server.config })
  const done = await cli.troupe(
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
    ...stdioOnly,
  )
  expect(done).toMatchObject({ code: 0, out: 'The result was hello.\n' })
  await waitUntil(() => !server.pids().some(isAlive))
})

test('MC35 an invalid --mcp-config file is rejected before anything starts', async () => {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', singleAnswerScript('hi'))
  const run = async (content: unknown) => {
    const file = await cli.write('mcp.json', content)
    return cli.troupe('run', 'task', '--agent', 'default', 'hi', '--model', model, '--mcp-config', file)
  }
  for (const [content, message] of [
    ['{', 'invalid JSON'],
    [[], 'not an object'],
    [{ servers: 7 }, 'the field "mcpServers" is missing'],
    [{ mcpServers: { s: { args: [] } } }, "the MCP server 's' is invalid: the entry needs either `command` or `url`"],
  ] as const) {
    const { code, err } = await run(content)
    expect(code).toBe(2)
    expect(err.replaceAll(/\s+/g, ' ')).toContain(message)
  }
})

test('MC35 an empty --mcp-config file configures no servers, with a warning', async () => {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', singleAnswerScript('hi'))
  for (const content of ['', ' \n']) {
    const file = await cli.write('.mcp.json', content)
    const run = await cli.troupe('run', 'task', '--agent', 'default', 'x', '--model', model, '--mcp-config', file)
    expect(run).toMatchObject({ code: 0, out: 'hi\n' })
    expect(run.err).toContain('.mcp.json is empty: no MCP servers are configured')
  }
})

/** A run of an agent whose file has an MCP server that uses the variable EXPOSED. */
async function createExposeEnvRun() {
  const cli = await createCliFixture()
  const testServer = createTestServer()
  const { command, args, env } = testServer.config
  const server = { command, args, env: { ...env, TOKEN: `\${EXPOSED}` } }
  await cli.write(
    'team/worker.md',
    `---\nname: worker\ndescription: d\nmcpServers: ${JSON.stringify({ s: server })}\n---\nWork.\n`,
  )
  const model = await cli.script('s.json', [
    { when: { turn: 1 }, reply: { toolCalls: [{ name: 'mcp__s__environment', input: {} }] } },
    { when: { says: 'TOKEN' }, reply: { text: 'TOKEN is set.' } },
    { reply: { text: 'TOKEN is not set.' } },
  ])
  return (value: Record<string, string>, ...more: string[]) =>
    cli.troupeWith(
      { env: value },
      ...['run', 'task', 'go', '--agent', 'worker', '--agents', 'team', '--model', model, '--no-sandbox'],
      ...['--allow', 'mcp__s', ...more],
    )
}

test('MC43 --expose-env exposes variables to MCP servers of agent files; an invalid name is rejected', async () => {
  const run = await createExposeEnvRun()
  const set = { EXPOSED: 'a-secret-value' }
  const without = await run(set)
  expect(without).toMatchObject({ code: 0, out: 'TOKEN is not set.\n' })
  expect(without.err.replaceAll(/\s+/g, ' ')).toContain('--expose-env EXPOSED')
  const exposed = await run(set, '--expose-env', 'OTHER', '--expose-env', 'EXPOSED')
  expect(exposed).toMatchObject({ code: 0, out: 'TOKEN is set.\n' })
  const unset = await run({}, '--expose-env', 'EXPOSED')
  expect(unset.err).toContain('--expose-env EXPOSED: the variable is not set')
  const wrong = await run(set, '--expose-env', 'EXPOSED=a-secret-value')
  expect(wrong).toMatchObject({ code: 2 })
  expect(wrong.err).toContain('--expose-env EXPOSED: not a valid variable name')
  expect(wrong.err).not.toContain('a-secret-value')
})

test('X2 when a run is killed during an action, the resumed run reports outcome_unknown', async () => {
  const cli = await createCliFixture()
  const server = createTestServer()
  const config = await writeConfig(cli, { s: server.config })
  const model = await cli.script('s.json', hangingScript)
  const running = cli.start(
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
  await waitUntil(() => server.log().includes('call hang'))
  running.kill('SIGKILL')
  await running.done
  await waitUntil(() => !server.pids().some(isAlive))
  const resumed = await cli.troupe('resume', 'r_', '--no-sandbox', '--allow', 'mcp__s', '--model', model, ...config)
  expect(resumed).toMatchObject({ code: 0, out: 'The outcome is unknown.\n' })
  expect(server.log().filter((line) => line === 'call hang')).toHaveLength(1)
  expect(server.pids()).toHaveLength(2)
})
