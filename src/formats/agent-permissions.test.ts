import { expect, test } from 'vitest'
import { parseAgentFile } from './agent-file.ts'

const file = (...head: string[]) => `---\nname: a\ndescription: d\n${head.join('\n')}\n---\nx\n`

async function read(...head: string[]) {
  const parsed = await parseAgentFile(file(...head), 'a.md')
  return {
    agent: parsed?.agent,
    problems: (parsed?.problems ?? []).map(({ level, message }) => `${level}: ${message}`),
  }
}

test.each([
  ['permissions:\n  deny: ["Bash(rm:*"]', 'Bash(rm:*'],
  ['permissions:\n  deny: ["Write x"]', 'Write x'],
  ['permissions:\n  ask: ["Write({a)"]', '{a'],
  ['disallowedTools: ["Bash(rm:*"]', 'Bash(rm:*'],
])('PM35 an agent with a rule that nobody can read is refused: %j', async (head, named) => {
  await expect(read(head)).rejects.toMatchObject({
    code: 'invalid_agent_file',
    message: expect.stringContaining(named),
  })
})

test('PM35 rules of a file that cannot do what they seem to are told of', async () => {
  const { agent, problems } = await read(
    'permissions:\n  deny: ["Write(~/x)", "WebFetch(https://a.org/b)", "Write({*.pem,*.key})"]',
  )
  expect(agent?.permissions?.deny).toHaveLength(3)
  expect(problems).toEqual([
    expect.stringMatching(/^warning: the rule 'Write\(~\/x\)' does not do what it seems to/),
    expect.stringMatching(/^warning: the rule 'WebFetch\(https:\/\/a.org\/b\)' does not do what it seems to/),
  ])
})

test('PM35 a server that could not be started is left out with an error', async () => {
  const { agent, problems } = await read(
    'mcpServers:\n  x: { command: [], url: 3 }\n  y: text\n  z: { command: node }\n  w:',
  )
  expect(agent?.mcp_servers).toEqual({ z: { command: 'node' }, w: null })
  expect(problems).toEqual([
    expect.stringMatching(/^error: the server 'x'/),
    expect.stringMatching(/^error: the server 'y'/),
  ])
})

test('PM35 plan mode is plan mode in any case', async () => {
  expect(await read('permissionMode: Plan')).toMatchObject({ agent: { read_only: true }, problems: [] })
})

test('PM35 of two lists of tools only what is in both is given, and the file is told so', async () => {
  const { agent, problems } = await read('tools: [Read, Grep]', 'allowed-tools: Bash, Read')
  expect(agent?.tools).toEqual(['Read'])
  expect(problems).toEqual([expect.stringContaining('second list of tools')])
})
