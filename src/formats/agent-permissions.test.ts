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
])('A11 an agent with a malformed rule is rejected: %j', async (head, rule) => {
  await expect(read(head)).rejects.toMatchObject({
    code: 'invalid_agent_file',
    message: expect.stringContaining(rule),
  })
})

test('PM32 rules of a file that may not work as intended are reported', async () => {
  const { agent, problems } = await read(
    'permissions:\n  deny: ["Write(~/x)", "WebFetch(https://a.org/b)", "Write({*.pem,*.key})"]',
  )
  expect(agent?.permissions?.deny).toHaveLength(3)
  expect(problems).toEqual([
    expect.stringMatching(/^warning: the rule 'Write\(~\/x\)' may not work as intended/),
    expect.stringMatching(/^warning: the rule 'WebFetch\(https:\/\/a.org\/b\)' may not work as intended/),
  ])
})

test('A4 an MCP server with an invalid configuration is ignored with an error', async () => {
  const { agent, problems } = await read(
    'mcpServers:\n  x: { command: [], url: 3 }\n  y: text\n  z: { command: node }\n  w:',
  )
  expect(agent?.mcp_servers).toEqual({ z: { command: 'node' }, w: null })
  expect(problems).toEqual([
    expect.stringMatching(/^error: the MCP server 'x'/),
    expect.stringMatching(/^error: the MCP server 'y'/),
  ])
})

test('A8 permissionMode: plan is case-insensitive', async () => {
  expect(await read('permissionMode: Plan')).toMatchObject({ agent: { read_only: true }, problems: [] })
})

test('A11 of two tool lists only the common tools are granted, with a warning', async () => {
  const { agent, problems } = await read('tools: [Read, Grep]', 'allowed-tools: Bash, Read')
  expect(agent?.tools).toEqual(['Read'])
  expect(problems).toEqual([expect.stringContaining('second tool list')])
})

test.each([
  'disallowedTools: shell, write_file',
  'permission: {shell: deny, write_file: deny}',
  'permissions: {deny: [shell, write_file]}',
  'permissions: {ask: [shell, write_file]}',
  'tools: {shell: false, write_file: false}',
])('A30 a name that is an alias and a tool of the program restricts both: %s', async (head) => {
  const parsed = await parseAgentFile(file(head), 'a.md', { tools: ['shell', 'write_file'] })
  const { exclude_tools = [], permissions = {} } = parsed?.agent ?? {}
  const restricted = [...exclude_tools, ...(permissions.deny ?? []), ...(permissions.ask ?? [])]
  expect(restricted.toSorted()).toEqual(['Bash', 'Write', 'shell', 'write_file'])
})

test('A30 a denied agent is denied too if a tool of the program is called Agent', async () => {
  const parsed = await parseAgentFile(file('disallowedTools: Agent(reviewer)'), 'a.md', { tools: ['Agent'] })
  expect(parsed?.agent.permissions?.deny?.toSorted()).toEqual(['Agent(reviewer)', 'task(reviewer)'])
})

test('A30 a granted name is the tool of the program only', async () => {
  const parsed = await parseAgentFile(file('tools: shell, write_file'), 'a.md', { tools: ['shell', 'write_file'] })
  expect(parsed?.agent.tools).toEqual(['shell', 'write_file'])
})
