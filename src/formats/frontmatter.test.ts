import { describe, expect, test } from 'vitest'
import { parseAgentFile } from './agent-file.ts'

const markdown = (...head: string[]) => `---\n${head.join('\n')}\n---\n\nDo it well.\n`

async function read(text: string) {
  const file = await parseAgentFile(text, 'agents/scout.md')
  if (!file) throw new Error('not an agent file')
  return { agent: file.agent, problems: file.problems.map(({ line, message }) => `${line}: ${message}`) }
}

describe('frontmatter that is not valid YAML', () => {
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

  test('A5 lists, duplicate keys, tabs and an unquoted * do not affect other keys', async () => {
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
    expect(problems).toContainEqual("8: duplicate key 'model'; the last one is used")
    expect((await read(markdown('name: a', 'description: b: c', 'tools: *'))).agent.tools).toBeUndefined()
  })

  test('A5 quoted text and lists that continue at the left margin are parsed with a warning', async () => {
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
    expect(problems).toEqual([expect.stringMatching(/^3: .*indentation/), expect.stringMatching(/^7: .*indentation/)])
  })

  test('A5 nested quotes, apostrophes and special characters do not end a text early', async () => {
    const parse = async (line: string) => (await read(markdown('name: a', line, 'model: fast'))).agent
    expect(await parse('description: "Say "hello" when: asked\\nand go"')).toMatchObject({
      description: 'Say "hello" when: asked\nand go',
      model: 'fast',
    })
    expect((await parse("description: 'It's time: now'")).description).toBe("It's time: now")
    expect((await parse('description: @mentions and: so on')).description).toBe('@mentions and: so on')
    expect((await parse('description: `code` first')).description).toBe('`code` first')
    expect((await parse('description: % of what')).description).toBe('% of what')
  })

  test('A5 nested values are read although one of their siblings is not valid YAML', async () => {
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

  test('A5 a key after a long description is a key, a dialogue line in it is text', async () => {
    const { agent } = await read(
      markdown('name: a', 'description: Ask: then', 'user: hi', 'Context: a room', 'version: 2', 'model: fast'),
    )
    expect(agent).toMatchObject({
      description: 'Ask: then user: hi Context: a room',
      extra: { version: 2 },
      model: 'fast',
    })
  })

  test('A5 a literal \\n in a description becomes a line break', async () => {
    const { agent } = await read(markdown('name: a', 'description: Use it. Examples:\\n\\n<example>\\nuser: hi'))
    expect(agent.description).toBe('Use it. Examples:\n\n<example>\nuser: hi')
    expect((await read(markdown('name: a', 'description: reads C:\\new files'))).agent.description).toContain('C:\\new')
  })

  test('A5 CRLF line ends and a byte order mark are accepted', async () => {
    const text = `\uFEFF${markdown('name: scout', 'description: d', 'tols: x')}`.replaceAll('\n', '\r\n')
    const { agent, problems } = await read(text)
    expect(agent).toMatchObject({ name: 'scout', description: 'd', instructions: 'Do it well.' })
    expect(problems).toEqual([expect.stringMatching(/^4: /)])
  })
})
