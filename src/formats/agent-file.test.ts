import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Agent } from '../kernel/agent.ts'
import { parseAgentFile } from './agent-file.ts'
import { loadAgents } from './find-agents.ts'

const markdown = (...head: string[]) => `---\n${head.join('\n')}\n---\n\nDo it well.\n`

async function read(text: string, path = 'agents/scout.md') {
  const file = await parseAgentFile(text, path)
  if (!file) throw new Error('not an agent file')
  return { agent: file.agent, problems: file.problems.map(({ line, message }) => `${line}: ${message}`) }
}

describe('a markdown file', () => {
  test('A1 frontmatter and text become an agent', async () => {
    const { agent, problems } = await read(
      markdown(
        'name: scout',
        'description: Looks ahead.',
        'tools: Read, Bash(git log:*, git diff:*), mcp__docs__find',
        'disallowedTools: [Write]',
        'model: fast',
        'maxTurns: 12',
        'temperature: 0.3',
        'color: red',
      ),
    )
    expect(problems).toEqual([])
    expect(agent).toEqual<Agent>({
      name: 'scout',
      description: 'Looks ahead.',
      instructions: 'Do it well.',
      tools: ['Read', 'Bash', 'mcp__docs__find'],
      permissions: { allow: ['Bash(git log:*, git diff:*)'] },
      exclude_tools: ['Write'],
      model: 'fast',
      max_turns: 12,
      temperature: 0.3,
      origin: { by: 'user', path: 'agents/scout.md', dialect: 'claude-code' },
      extra: { color: 'red' },
    })
  })

  test('A2 fields that a file omits are not set; tools: [] means no tools', async () => {
    const { agent } = await read(markdown('name: scout', 'description: d', 'model: inherit', 'tools: "*"'))
    expect(Object.keys(agent).sort()).toEqual(['description', 'instructions', 'name', 'origin'])
    const { agent: withoutTools } = await read(markdown('name: scout', 'description: d', 'tools: []'))
    expect(withoutTools.tools).toEqual([])
    const { agent: listed } = await read(markdown('name: scout', 'description: d', 'tools:', '  - Read', '  - Grep'))
    expect(listed.tools).toEqual(['Read', 'Grep'])
  })

  test.each([
    ['plain text', '# Title\n\nText.'],
    ['an empty file', ''],
    ['a page with a title', markdown('title: Scouts', 'description: All about scouts.')],
    ['a rule at the top', '---\n\nA page.\n'],
    ['empty frontmatter', '---\n---\nA page.'],
  ])('A3 %s does not define an agent', async (_, text) => {
    expect(await parseAgentFile(text, 'README.md')).toBeUndefined()
  })

  test.each<[string, string[], string[], Partial<Agent>]>([
    [
      'an unknown key',
      ['name: a', 'description: d', 'tols: Read'],
      ["4: unknown key 'tols'; did you mean 'tools'?"],
      {},
    ],
    [
      'an unsupported key',
      ['name: a', 'description: d', 'hooks: {}'],
      ["4: 'hooks' has no effect: commands in agent files are not executed"],
      {},
    ],
    [
      'a permissive permissionMode',
      ['name: a', 'description: d', 'permissionMode: bypassPermissions'],
      [expect.stringMatching(/^4: .*has no effect/)],
      {},
    ],
    [
      'a temperature that is text',
      ['name: a', 'description: d', 'temperature: hot'],
      ["4: 'temperature' must be a number from 0 to 2"],
      {},
    ],
    ['a boolean temperature', ['name: a', 'description: d', 'temperature: true'], [expect.stringMatching(/^4: /)], {}],
    [
      'maxTurns of zero',
      ['maxTurns: 0', 'name: a', 'description: d'],
      ["2: 'maxTurns' must be a positive integer"],
      {},
    ],
    [
      'a number as tools',
      ['name: a', 'description: d', 'tools: 5'],
      [expect.stringMatching(/^4: .*the agent gets no tools/)],
      { tools: [] },
    ],
    ['empty tools', ['name: a', 'description: d', 'tools:'], [expect.stringMatching(/^4: 'tools' is empty/)], {}],
    [
      'a missing name',
      ['tools: Read', 'description: d'],
      ["1: 'name' is missing; the agent is named 'scout' after its file"],
      { name: 'scout' },
    ],
    ['a missing description', ['name: a'], [expect.stringMatching(/^1: 'description' is missing/)], {}],
    ['a numeric name', ['name: 42', 'description: d'], [], { name: '42' }],
  ])('A4 %s is reported with its line', async (_, head, expected, agent) => {
    const file = await read(markdown(...head))
    expect(file.problems).toEqual(expected)
    expect(file.agent).toMatchObject(agent)
  })

  test.each(['denied-tools: Write', 'forbidden: [Bash]', 'blocked_commands: rm', 'toolRestrictions: x'])(
    'PM44 the unknown key in %j, which looks like a restriction, is reported',
    async (head) => {
      const { problems } = await read(markdown('name: a', 'description: d', head))
      expect(problems.join()).toMatch(/unknown key '[\w-]+' (restricts nothing|;)/)
    },
  )

  test('A4 an agent with invalid exclusions is rejected instead of loaded without them', async () => {
    const text = markdown('name: a', 'description: d', 'disallowedTools: {Write: true}')
    await expect(parseAgentFile(text, 'a.md')).rejects.toMatchObject({ code: 'invalid_agent_file' })
  })

  test('A4 a YAML alias bomb is rejected instead of expanded', async () => {
    const bomb = Array.from({ length: 9 }, (_, n) => `x${n + 1}: &x${n + 1} [${Array(9).fill(`*x${n}`).join(', ')}]`)
    const text = markdown('name: a', 'description: d', 'x0: &x0 [lol]', ...bomb)
    const error = await parseAgentFile(text, 'a.md').catch((thrown: unknown) => thrown)
    expect(String(error)).toMatch(/alias/i)
  })

  test('A4 missing instructions are reported, and unclosed frontmatter is rejected', async () => {
    const file = await read('---\nname: a\ndescription: d\n---\n')
    expect(file.problems).toEqual(['1: the instructions below the frontmatter are missing'])
    await expect(parseAgentFile('---\nname: a\ndescription: d\n\nDo it.', 'a.md')).rejects.toMatchObject({
      code: 'invalid_agent_file',
      message: expect.stringContaining('a.md: the frontmatter'),
    })
  })
})

describe('an agent folder', () => {
  test('A6 agents are in the order of their files, and an invalid file does not affect the others', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-agents-'))
    try {
      await writeFile(join(folder, 'b.md'), markdown('name: beta', 'description: d'))
      await writeFile(join(folder, 'a.md'), markdown('name: alpha', 'description: d', 'tols: x'))
      await writeFile(join(folder, 'c.md'), markdown('name: beta', 'description: again'))
      await writeFile(join(folder, 'd.md'), '---\nname: open\n')
      await writeFile(join(folder, 'README.md'), '# Agents\n')
      await writeFile(join(folder, 'notes.txt'), markdown('name: notes'))
      await mkdir(join(folder, 'folder.md'))
      const { agents, problems } = await loadAgents(folder)
      expect(agents.map(({ name }) => name)).toEqual(['alpha', 'beta'])
      expect(problems.map(({ path, line, message }) => [path.slice(folder.length + 1), line, message])).toEqual([
        ['a.md', 4, expect.stringContaining("'tols'")],
        ['d.md', 1, expect.stringContaining('not closed')],
        ['c.md', 1, expect.stringMatching(/^duplicate agent 'beta': the one in .*b\.md is used$/)],
      ])
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('A6 a missing folder is reported by name', async () => {
    await expect(loadAgents('no/such/folder')).rejects.toMatchObject({
      code: 'invalid_agent_file',
      message: expect.stringContaining('no/such/folder'),
    })
  })

  test('A7 the built-in agents load without a problem', async () => {
    const { agents, problems } = await loadAgents(fileURLToPath(new URL('../../agents/', import.meta.url)))
    expect(problems).toEqual([])
    const facts = agents.map(({ name, tools, temperature }) => ({ name, tools, temperature }))
    expect(facts.filter(({ name }) => !name.includes('_'))).toEqual([
      {
        name: 'architect',
        tools: expect.arrayContaining(['Read', 'TaskList', 'task', 'collaborate']),
        temperature: 0.7,
      },
      { name: 'default', tools: undefined, temperature: undefined },
      { name: 'developer', tools: ['Read', 'Write', 'Edit', 'Bash', 'Glob', 'Grep'], temperature: 0.3 },
      { name: 'documenter', tools: ['Read', 'Write', 'Edit', 'Bash', 'Glob', 'Grep'], temperature: undefined },
      { name: 'implementer', tools: ['Read', 'Write', 'Edit', 'Glob', 'Bash', 'consult'], temperature: 0.3 },
      { name: 'optimizer', tools: ['Read', 'Write', 'Edit', 'Bash', 'Glob', 'Grep'], temperature: undefined },
      { name: 'researcher', tools: ['WebSearch', 'WebFetch', 'Grep', 'Glob'], temperature: undefined },
      { name: 'reviewer', tools: ['Read', 'Glob', 'Grep', 'Bash'], temperature: undefined },
      { name: 'security', tools: ['Read', 'Glob', 'Grep', 'Bash'], temperature: undefined },
      { name: 'tester', tools: ['Read', 'Write', 'Edit', 'Bash', 'Glob', 'Grep'], temperature: undefined },
    ])
    const specialists = agents.filter(({ name }) => name.includes('_'))
    expect(specialists.map(({ name }) => name)).toEqual([
      ...['backend_developer', 'devops_engineer', 'frontend_developer'],
      ...['project_manager', 'qa_engineer', 'security_expert'],
    ])
    for (const { tools, on_request } of specialists) {
      expect({ tools, on_request }).toEqual({
        tools: ['Read', 'Glob', 'Grep', 'consult', 'rate_consultation'],
        on_request: true,
      })
    }
    const instructions = (name: string) => agents.find((agent) => agent.name === name)?.instructions
    expect(instructions('architect')).toMatch(/^You are a zen architect valuing simplicity\./)
    expect(instructions('reviewer')).toMatch(/^You are a code reviewer\. Find issues and suggest improvements\./)
    expect(agents.every(({ description }) => description.length > 40)).toBe(true)
  })
})
