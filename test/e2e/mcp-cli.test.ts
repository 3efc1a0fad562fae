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
    ['{', 'it is not JSON'],
    [[], 'it is no object'],
    [{ servers: 7 }, 'it has no "mcpServers"'],
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
    expect(run.err).toContain('.mcp.json is empty: there are no MCP servers')
  }
})

test('MC43 --lend names the variables that servers of agents’ files may use; what is no name is bad usage', async () => {
  const here = await createCliFixture()
  const scene = createTestServer()
  const { command, args, env } = scene.config
  const server = { command, args, env: { ...env, TOKEN: `\${LEND_ME}` } }
  await here.write(
    'team/clerk.md',
    `---\nname: clerk\ndescription: d\nmcpServers: ${JSON.stringify({ s: server })}\n---\nWork.\n`,
  )
  const model = await here.script('s.json', [
    { when: { turn: 1 }, reply: { toolCalls: [{ name: 'mcp__s__environment', input: {} }] } },
    { when: { says: 'TOKEN' }, reply: { text: 'It has it.' } },
    { reply: { text: 'It has nothing.' } },
  ])
  const run = (value: Record<string, string>, ...more: string[]) =>
    here.troupeWith(
      { env: value },
      ...['run', 'task', 'go', '--agent', 'clerk', '--agents', 'team', '--model', model, '--no-sandbox'],
      ...['--allow', 'mcp__s', ...more],
    )
  const set = { LEND_ME: 'a-secret-value' }
  const without = await run(set)
  expect(without).toMatchObject({ code: 0, out: 'It has nothing.\n' })
  expect(without.err.replaceAll(/\s+/g, ' ')).toContain('--lend LEND_ME')
  expect(await run(set, '--lend', 'OTHER', '--lend', 'LEND_ME')).toMatchObject({ code: 0, out: 'It has it.\n' })
  const unset = await run({}, '--lend', 'LEND_ME')
  expect(unset.err).toContain('--lend LEND_ME: the environment has no such variable')
  const wrong = await run(set, '--lend', 'LEND_ME=a-secret-value')
  expect(wrong).toMatchObject({ code: 2 })
  expect(wrong.err).toContain('no name of a variable')
  expect(wrong.err).not.toContain('a-secret-value')
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
