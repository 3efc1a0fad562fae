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
  if (!file) throw new Error('read as no agent')
  return { agent: file.agent, problems: file.problems.map(({ line, message }) => `${line}: ${message}`) }
}

describe('one file', () => {
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

  test('A2 what a file leaves out comes from the caller', async () => {
    const { agent } = await read(markdown('name: scout', 'description: d', 'model: inherit', 'tools: "*"'))
    expect(Object.keys(agent).sort()).toEqual(['description', 'instructions', 'name', 'origin'])
    const { agent: bare } = await read(markdown('name: scout', 'description: d', 'tools: []'))
    expect(bare.tools).toEqual([])
    const { agent: listed } = await read(markdown('name: scout', 'description: d', 'tools:', '  - Read', '  - Grep'))
    expect(listed.tools).toEqual(['Read', 'Grep'])
  })

  test.each([
    ['plain text', '# Title\n\nText.'],
    ['an empty file', ''],
    ['a page with a title', markdown('title: Scouts', 'description: All about scouts.')],
    ['a rule at the top', '---\n\nA page.\n'],
    ['empty frontmatter', '---\n---\nA page.'],
  ])('A3 %s is no agent', async (_, text) => {
    expect(await parseAgentFile(text, 'README.md')).toBeUndefined()
  })

  test.each<[string, string[], string[], Partial<Agent>]>([
    [
      'an unknown key',
      ['name: a', 'description: d', 'tols: Read'],
      ["4: unknown key 'tols'; did you mean 'tools'?"],
      {},
    ],
    ['a key without effect', ['name: a', 'description: d', 'hooks: {}'], ["4: 'hooks' has no effect here yet"], {}],
    [
      'a mode that would grant',
      ['name: a', 'description: d', 'permissionMode: bypassPermissions'],
      [expect.stringMatching(/^4: .*grants nothing here/)],
      {},
    ],
    [
      'a hot temperature',
      ['name: a', 'description: d', 'temperature: hot'],
      ["4: 'temperature' must be a number from 0 to 2"],
      {},
    ],
    ['a true temperature', ['name: a', 'description: d', 'temperature: true'], [expect.stringMatching(/^4: /)], {}],
    ['no turns', ['maxTurns: 0', 'name: a', 'description: d'], ["2: 'maxTurns' must be a whole number above 0"], {}],
    [
      'a number of tools',
      ['name: a', 'description: d', 'tools: 5'],
      [expect.stringMatching(/^4: .*this agent gets none/)],
      { tools: [] },
    ],
    ['empty tools', ['name: a', 'description: d', 'tools:'], [expect.stringMatching(/^4: 'tools' is empty/)], {}],
    [
      'no name',
      ['tools: Read', 'description: d'],
      ["1: has no name; called 'scout' after its file"],
      { name: 'scout' },
    ],
    ['no description', ['name: a'], [expect.stringMatching(/^1: has no description/)], {}],
    ['a name that is a number', ['name: 42', 'description: d'], [], { name: '42' }],
  ])('A4 %s is reported with its line', async (_, head, expected, agent) => {
    const file = await read(markdown(...head))
    expect(file.problems).toEqual(expected)
    expect(file.agent).toMatchObject(agent)
  })

  test('A4 exclusions that cannot be read refuse the agent: it would keep what was meant to be taken away', async () => {
    const text = markdown('name: a', 'description: d', 'disallowedTools: {Write: true}')
    await expect(parseAgentFile(text, 'a.md')).rejects.toMatchObject({ code: 'invalid_agent_file' })
  })

  test('A4 aliases that multiply are refused instead of expanded', async () => {
    const bomb = Array.from({ length: 9 }, (_, n) => `x${n + 1}: &x${n + 1} [${Array(9).fill(`*x${n}`).join(', ')}]`)
    const text = markdown('name: a', 'description: d', 'x0: &x0 [lol]', ...bomb)
    const refused = await parseAgentFile(text, 'a.md').catch((error: unknown) => error)
    expect(String(refused)).toMatch(/alias/i)
  })

  test('A4 instructions that are missing are reported, and a frontmatter without an end is refused', async () => {
    const file = await read('---\nname: a\ndescription: d\n---\n')
    expect(file.problems).toEqual(['1: has no instructions below its frontmatter'])
    await expect(parseAgentFile('---\nname: a\ndescription: d\n\nDo it.', 'a.md')).rejects.toMatchObject({
      code: 'invalid_agent_file',
      message: expect.stringContaining('a.md: the frontmatter'),
    })
  })
})

describe('frontmatter that is not YAML', () => {
  test('A5 a description with colons, examples and folded lines is kept as text', async () => {
    const { agent, problems } = await read(
      markdown(
        'name: scout',
        'description: Use it when: the way is open. Examples: <example>user: "Go?"',
        '  assistant: "Going." [note: "x"]',
        'user: and on the left margin',
        'tools: Read, Grep',
        'temperature: 0.5',
      ),
    )
    expect(agent).toMatchObject({ name: 'scout', tools: ['Read', 'Grep'], temperature: 0.5 })
    expect(agent.description).toBe(
      'Use it when: the way is open. Examples: <example>user: "Go?" assistant: "Going." [note: "x"] user: and on the left margin',
    )
    expect(problems).toEqual([expect.stringMatching(/^3: 'description' is not valid YAML/)])
  })

  test('A5 a list, a key given twice, tabs and a star do not lose the rest', async () => {
    const text = markdown(
      'name: scout',
      'description: a: b',
      'tools:',
      '  - Read',
      '\t- Grep',
      'model: fast',
      'model: general',
    )
    const { agent, problems } = await read(text)
    expect(agent).toMatchObject({ name: 'scout', description: 'a: b', model: 'general', tools: ['Read', 'Grep'] })
    expect(problems).toContainEqual("8: 'model' is given twice; the last one counts")
    expect((await read(markdown('name: a', 'description: b: c', 'tools: *'))).agent.tools).toBeUndefined()
  })

  test('A5 quoted text and lists that go on at the left margin are read as their writers meant them', async () => {
    const { agent, problems } = await read(
      markdown(
        'name: scout',
        'description: "First line',
        'second: line',
        '',
        'a new paragraph"',
        'tools: [',
        "'Read',",
        "'Grep'",
        ']',
        'model: fast',
      ),
    )
    expect(agent).toMatchObject({ description: 'First line second: line\na new paragraph', tools: ['Read', 'Grep'] })
    expect(agent.model).toBe('fast')
    expect(problems).toEqual([expect.stringMatching(/^3: .*not indented/), expect.stringMatching(/^7: .*not indented/)])
  })

  test('A5 quotes within quotes, an apostrophe and a hash do not end a text early', async () => {
    const said = async (line: string) => (await read(markdown('name: a', line, 'model: fast'))).agent
    expect(await said('description: "Say "hello" when: asked\\nand go"')).toMatchObject({
      description: 'Say "hello" when: asked\nand go',
      model: 'fast',
    })
    expect((await said("description: 'It's time: now'")).description).toBe("It's time: now")
    expect((await said('description: @mentions and: so on')).description).toBe('@mentions and: so on')
    expect((await said('description: `code` first')).description).toBe('`code` first')
    expect((await said('description: % of what')).description).toBe('% of what')
  })

  test('A5 a value below a key is read although one of its neighbours is not YAML', async () => {
    const { agent, problems } = await read(
      markdown(
        'meta:',
        '  name: scout',
        '  description: Use it: always',
        '  tags: [a]',
        'tools:',
        '  - module: tool-bash',
        'model_role: fast',
      ),
    )
    expect(agent).toMatchObject({ name: 'scout', description: 'Use it: always', tools: ['Bash'], model: 'fast' })
    expect(agent.origin).toMatchObject({ dialect: 'amplifier' })
    expect(problems).toEqual([expect.stringMatching(/^4: 'description' is not valid YAML/)])
  })

  test('A5 a key after a long description is a key, a speaker in it is not', async () => {
    const { agent } = await read(
      markdown('name: a', 'description: Ask: then', 'user: hi', 'Context: a room', 'version: 2', 'model: fast'),
    )
    expect(agent).toMatchObject({
      description: 'Ask: then user: hi Context: a room',
      extra: { version: 2 },
      model: 'fast',
    })
  })

  test('A5 line breaks that an editor wrote as two characters are line breaks', async () => {
    const { agent } = await read(markdown('name: a', 'description: Use it. Examples:\\n\\n<example>\\nuser: hi'))
    expect(agent.description).toBe('Use it. Examples:\n\n<example>\nuser: hi')
    expect((await read(markdown('name: a', 'description: reads C:\\new files'))).agent.description).toContain('C:\\new')
  })

  test('A5 line ends and a byte order mark of other systems are read', async () => {
    const text = `\uFEFF${markdown('name: scout', 'description: d', 'tols: x')}`.replaceAll('\n', '\r\n')
    const { agent, problems } = await read(text)
    expect(agent).toMatchObject({ name: 'scout', description: 'd', instructions: 'Do it well.' })
    expect(problems).toEqual([expect.stringMatching(/^4: /)])
  })
})

describe('a folder', () => {
  test('A6 agents come in the order of their files, and a bad file costs only itself', async () => {
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
        ['d.md', 1, expect.stringContaining('never ends')],
        ['c.md', 1, expect.stringMatching(/^a second agent 'beta'; the one in .*b\.md counts$/)],
      ])
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('A6 a folder that is not there is named', async () => {
    await expect(loadAgents('no/such/folder')).rejects.toMatchObject({
      code: 'invalid_agent_file',
      message: expect.stringContaining('no/such/folder'),
    })
  })

  test('A7 the five agent types come as agent files without a problem', async () => {
    const { agents, problems } = await loadAgents(fileURLToPath(new URL('../../agents/', import.meta.url)))
    expect(problems).toEqual([])
    const facts = agents.map(({ name, tools, temperature }) => ({ name, tools, temperature }))
    expect(facts).toEqual([
      { name: 'architect', tools: undefined, temperature: 0.7 },
      { name: 'default', tools: undefined, temperature: undefined },
      { name: 'implementer', tools: ['Read', 'Write', 'Edit', 'Glob', 'Bash'], temperature: 0.3 },
      { name: 'researcher', tools: ['WebSearch', 'WebFetch', 'Grep', 'Glob'], temperature: undefined },
      { name: 'reviewer', tools: ['Read', 'Glob', 'Grep'], temperature: undefined },
    ])
    const said = (name: string) => agents.find((agent) => agent.name === name)?.instructions
    expect(said('architect')).toMatch(/^You are a zen architect valuing simplicity\./)
    expect(said('reviewer')).toMatch(/^You are a code reviewer\. Find issues and suggest improvements\./)
    expect(agents.every(({ description }) => description.length > 40)).toBe(true)
  })
})
