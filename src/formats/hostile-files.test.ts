import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectLinearTime } from '../../test/support/linear-time.ts'
import { parseAgentFile } from './agent-file.ts'
import { loadAgents } from './find-agents.ts'
import { BUILT_IN_TOOLS } from './tool-aliases.ts'

const markdown = (name: string, ...head: string[]) =>
  `---\nname: ${name}\ndescription: d\n${head.map((line) => `${line}\n`).join('')}---\n\nDo it well.\n`

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-hostile-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function put(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), content)
}

async function load() {
  const loaded = await loadAgents(folder)
  const problems = loaded.problems.map(
    ({ level, path, line, message }) => `${level} ${path.slice(folder.length + 1)}:${line} ${message}`,
  )
  return { names: loaded.agents.map(({ name }) => name), agents: loaded.agents, problems }
}

describe('hostile files', () => {
  test('A15 subfolders are searched, except node_modules, .git and .venv', async () => {
    await put('a.md', markdown('alpha'))
    await put('deep/er/b.md', markdown('beta'))
    await put('x.md/c.md', markdown('gamma'))
    for (const other of ['node_modules/p/agents', '.git', '.venv']) await put(`${other}/no.md`, markdown('no'))
    expect(await load()).toMatchObject({ names: ['alpha', 'beta', 'gamma'], problems: [] })
  })

  test('A15 a single file can be named instead of a folder', async () => {
    await put('a.md', markdown('alpha'))
    await put('b.md', markdown('beta'))
    const { agents } = await loadAgents(join(folder, 'b.md'))
    expect(agents.map(({ name }) => name)).toEqual(['beta'])
  })

  test('A15 symlinks are followed once: loops end, a broken link is reported', async () => {
    await put('real/a.md', markdown('alpha'))
    await symlink(folder, join(folder, 'real/up'))
    await symlink(join(folder, 'real'), join(folder, 'twin'))
    await symlink(join(folder, 'gone.md'), join(folder, 'broken.md'))
    await symlink('self.md', join(folder, 'self.md'))
    await symlink(join(folder, 'real/a.md'), join(folder, 'z.md'))
    const { names, problems } = await load()
    expect(names).toContain('alpha')
    expect(problems).toContainEqual('warning broken.md:1 cannot be read: broken symlink')
    expect(problems).toContainEqual('warning self.md:1 cannot be read: symlink loop')
    expect(problems.filter((line) => line.includes('duplicate agent'))).toHaveLength(1)
  })

  test('A15 a named pipe does not block loading', async () => {
    await promisify(execFile)('mkfifo', [join(folder, 'pipe.md')])
    await put('a.md', markdown('alpha'))
    expect(await load()).toMatchObject({
      names: ['alpha'],
      problems: ['warning pipe.md:1 cannot be read: neither a file nor a folder'],
    })
  })

  test('A15 UTF-16, byte order marks and CR or CRLF line ends are read', async () => {
    await put('a.md', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(markdown('alpha'), 'utf16le')]))
    await put('b.md', `\uFEFF${markdown('beta')}`)
    await put('c.md', markdown('gamma').replaceAll('\n', '\r\n'))
    await put('d.md', markdown('delta').replaceAll('\n', '\r'))
    const { names, agents, problems } = await load()
    expect(names).toEqual(['alpha', 'beta', 'gamma', 'delta'])
    expect(new Set(agents.map(({ instructions }) => instructions))).toEqual(new Set(['Do it well.']))
    expect(problems).toEqual([])
  })

  test('A15 invalid UTF-8 is replaced and reported; a binary file does not define an agent', async () => {
    await put('a.md', Buffer.concat([Buffer.from(markdown('alpha')), Buffer.from([0xc3, 0x28, 0xff])]))
    await put('b.md', Buffer.concat([Buffer.from(markdown('beta')), Buffer.from([0, 1, 2])]))
    await put('page.md', Buffer.from([0x23, 0x20, 0xff, 0xfe]))
    const { names, problems } = await load()
    expect(names).toEqual(['alpha'])
    expect(problems).toEqual([expect.stringContaining('a.md:1 not valid UTF-8')])
  })

  test('A15 a huge file is an error only if it starts like an agent', async () => {
    await put('a.md', markdown('alpha') + 'x'.repeat(2_000_000))
    await put('README.md', `# Long\n${'x'.repeat(2_000_000)}`)
    await put('lock.yaml', `agents:\n${'- x\n'.repeat(500_000)}`)
    const { names, problems } = await load()
    expect(names).toEqual([])
    expect(problems).toEqual([expect.stringMatching(/^error a\.md:1 larger than/)])
  })

  test('A15 an empty folder, empty files and frontmatter without text are not errors', async () => {
    expect(await load()).toMatchObject({ names: [], problems: [] })
    await put('a.md', '')
    await put('b.md', '---\n---\n')
    await put('c.yaml', '')
    await put('d.md', '---\nname: delta\ndescription: d\n---')
    expect(await load()).toMatchObject({
      names: ['delta'],
      problems: [expect.stringContaining('instructions below the frontmatter')],
    })
  })
})

describe('hostile text', () => {
  test('A15 names may use any script; names with control characters are rejected', async () => {
    for (const name of ['审查员', 'Prüfer', 'مراجع', 'Agent 007 🕵️', 'a:b', 'on']) {
      expect((await parseAgentFile(markdown(name), 'x.md'))?.agent.name).toBe(name)
    }
    const decomposed = await parseAgentFile(markdown('Pru\u0308fer'), 'x.md')
    expect(decomposed?.agent.name).toBe('Prüfer')
    for (const invalid of ['"a\\nb"', '"a\\u001b[31m"', '""', '[a]']) {
      const file = await parseAgentFile(markdown(invalid), 'x.md')
      expect(file?.agent.name).toBe('x')
      expect(file?.problems[0]).toMatchObject({ level: 'warning', line: 2 })
    }
  })

  const maps = (depth: number) => Array.from({ length: depth }, (_, indent) => `${' '.repeat(indent)}k: "`).join('\n')
  test.each<[string, number, (length: number) => string]>([
    ['unclosed quotes', 900, (length) => 'a: "b\n'.repeat(length)],
    ['unclosed brackets', 900, (length) => 'a: [[[\n'.repeat(length)],
    // The text itself grows with the square of the depth.
    ['nested maps', 300 ** 2, (length) => maps(Math.sqrt(length))],
    ['deep brackets', 30_000, (length) => `a: ${'['.repeat(length)}`],
    ['colons', 30_000, (length) => `description: ${': '.repeat(length)}`],
    ['backslashes', 60_000, (length) => `description: "${'\\'.repeat(length + 1)}`],
    ['commas and parentheses', 30_000, (length) => `tools: ${'(,'.repeat(length)}`],
    ['dashes', 60_000, (length) => `${'-'.repeat(length)}: x`],
  ])('A15 %s are parsed in linear time (no ReDoS)', async (_, longest, head) => {
    const parse = (length: number) =>
      parseAgentFile(`---\nname: a\n${head(length)}\n---\nx`, 'a.md').catch((error: unknown) => error)
    const result = await parse(longest)
    expect(result === undefined || result instanceof Error || typeof result === 'object').toBe(true)
    await expectLinearTime(parse, longest)
  })

  test('A15 overlong frontmatter is rejected for an agent and ignored otherwise', async () => {
    const long = 'x: y\n'.repeat(2000)
    await expect(parseAgentFile(`---\nname: a\n${long}---\n`, 'a.md')).rejects.toMatchObject({
      code: 'invalid_agent_file',
    })
    expect(await parseAgentFile(`---\n\nA page.\n${'words\n'.repeat(2000)}---\n`, 'a.md')).toBeUndefined()
  })

  test('A15 a page between two horizontal rules does not define an agent', async () => {
    expect(await parseAgentFile('---\n\nSome words.\n\nMore words: here.\n\n---\n\nEnd', 'a.md')).toBeUndefined()
    expect(await parseAgentFile('---\n\n**Note:** read this\n\n---\n', 'a.md')).toBeUndefined()
  })
})

describe('random input', () => {
  const pieces = fc.constantFrom(
    'Read',
    'Bash(',
    ')',
    ',',
    ' ',
    '\n',
    '- ',
    '[',
    ']',
    '{',
    '}',
    ':',
    '"',
    "'",
    '*',
    '#',
    '|',
  )
  const junk = fc.array(fc.oneof(pieces, fc.string({ maxLength: 8 })), { maxLength: 30 }).map((parts) => parts.join(''))

  test('A10 no tool list grants an unknown tool', async () => {
    await fc.assert(
      fc.asyncProperty(junk, async (tools) => {
        const file = await parseAgentFile(`---\nname: a\ndescription: d\ntools: ${tools}\n---\nx`, 'a.md').catch(
          () => undefined,
        )
        for (const name of file?.agent.tools ?? []) {
          expect(BUILT_IN_TOOLS.includes(name) || name.startsWith('mcp__') || name.includes('/')).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('A15 any frontmatter is read, ignored or rejected, and the result is serializable', async () => {
    await fc.assert(
      fc.asyncProperty(junk, junk, async (head, body) => {
        const result = await parseAgentFile(`---\nname: a\n${head}\n---\n${body}`, 'a.md').catch(
          (error: unknown) => error,
        )
        if (result === undefined || result instanceof Error) return
        expect(JSON.parse(JSON.stringify(result))).toEqual(result)
      }),
      { numRuns: 300 },
    )
  })
})
