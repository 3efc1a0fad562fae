import { expect, test } from 'vitest'
import { isAlive, sceneServer, until } from '../mcp-scene.ts'
import type { Place } from './command-line.ts'
import { oneAnswer, place } from './command-line.ts'

const hanging = [
  { when: { turn: 1 }, reply: { toolCalls: [{ name: 'mcp__s__hang', input: {} }] } },
  { when: { says: 'outcome_unknown' }, reply: { text: 'Nobody knows.' } },
]

async function configured(here: Place, servers: Record<string, unknown>): Promise<string[]> {
  return ['--mcp-config', await here.write('mcp.json', { mcpServers: servers })]
}

test('MC34 --mcp-config gives a run its servers, and doctor lists them without starting any', async () => {
  const here = await place()
  const scene = sceneServer()
  const servers = { s: scene.config, web: { type: 'http', url: 'https://user:hunter2@example.com/mcp?key=k-123' } }
  const config = await configured(here, servers)
  const checked = await here.troupe('doctor', ...config)
  expect(checked.out).toMatch(/mcp +s · stdio · \S+ …; started/)
  expect(checked.out).toMatch(/mcp +web · http · https:\/\/example.com\/mcp;/)
  expect(checked.out).not.toMatch(/k-123|hunter2/)
  expect(scene.pids()).toEqual([])
  const model = await here.script('s.json', [
    { when: { turn: 1 }, reply: { toolCalls: [{ name: 'mcp__s__echo', input: { text: 'hello' } }] } },
    { when: { says: 'hello' }, reply: { text: 'It said hello.' } },
  ])
  const only = await configured(here, { s: scene.config })
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
  await until(() => !scene.pids().some(isAlive))
})

test('MC35 a file of servers that cannot be meant is bad usage, before anything starts', async () => {
  const here = await place()
  const model = await here.script('s.json', oneAnswer('hi'))
  const run = async (content: unknown) => {
    const file = await here.write('mcp.json', content)
    return here.troupe('run', 'task', '--agent', 'default', 'hi', '--model', model, '--mcp-config', file)
  }
  for (const [content, words] of [
    ['{', 'it is not JSON'],
    [[], 'it is no object'],
    [{ servers: 7 }, 'it has no "mcpServers"'],
    [{ mcpServers: { s: { args: [] } } }, "the MCP server 's' is not usable: it needs either a command or a url"],
  ] as const) {
    const { code, err } = await run(content)
    expect(code).toBe(2)
    expect(err.replaceAll(/\s+/g, ' ')).toContain(words)
  }
})

test('MC36 a run that was killed between begin and end of an action reports its outcome as unknown', async () => {
  const here = await place()
  const scene = sceneServer()
  const config = await configured(here, { s: scene.config })
  const model = await here.script('s.json', hanging)
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
  await until(() => scene.log().includes('call hang'))
  running.kill('SIGKILL')
  await running.done
  await until(() => !scene.pids().some(isAlive))
  const resumed = await here.troupe('resume', 'r_', '--no-sandbox', '--allow', 'mcp__s', '--model', model, ...config)
  expect(resumed).toMatchObject({ code: 0, out: 'Nobody knows.\n' })
  expect(scene.log().filter((line) => line === 'call hang')).toHaveLength(1)
  expect(scene.pids()).toHaveLength(2)
})
