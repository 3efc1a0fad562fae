import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
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
  const { agents, problems } = await loadAgents(folder)
  const said = problems.map(
    ({ level, path, line, message }) => `${level} ${path.slice(folder.length + 1)}:${line} ${message}`,
  )
  return { names: agents.map(({ name }) => name), agents, said }
}

describe('files that are not what they seem', () => {
  test('A15 folders below are searched, and what is installed or versioned is not', async () => {
    await put('a.md', markdown('alpha'))
    await put('deep/er/b.md', markdown('beta'))
    await put('x.md/c.md', markdown('gamma'))
    for (const other of ['node_modules/p/agents', '.git', '.venv']) await put(`${other}/no.md`, markdown('no'))
    expect(await load()).toMatchObject({ names: ['alpha', 'beta', 'gamma'], said: [] })
  })

  test('A15 a single file can be named instead of a folder', async () => {
    await put('a.md', markdown('alpha'))
    await put('b.md', markdown('beta'))
    const { agents } = await loadAgents(join(folder, 'b.md'))
    expect(agents.map(({ name }) => name)).toEqual(['beta'])
  })

  test('A15 links are followed once: loops end, a link to nowhere is reported', async () => {
    await put('real/a.md', markdown('alpha'))
    await symlink(folder, join(folder, 'real/up'))
    await symlink(join(folder, 'real'), join(folder, 'twin'))
    await symlink(join(folder, 'gone.md'), join(folder, 'broken.md'))
    await symlink('self.md', join(folder, 'self.md'))
    await symlink(join(folder, 'real/a.md'), join(folder, 'z.md'))
    const { names, said } = await load()
    expect(names).toContain('alpha')
    expect(said).toContainEqual('warning broken.md:1 cannot be read: a link to nowhere')
    expect(said).toContainEqual('warning self.md:1 cannot be read: a link to itself')
    expect(said.filter((line) => line.includes('second agent'))).toHaveLength(1)
  })

  test('A15 a pipe with the name of an agent is not waited for', async () => {
    await promisify(execFile)('mkfifo', [join(folder, 'pipe.md')])
    await put('a.md', markdown('alpha'))
    expect(await load()).toMatchObject({
      names: ['alpha'],
      said: ['warning pipe.md:1 cannot be read: neither a file nor a folder'],
    })
  })

  test('A15 text in UTF-16, with a byte order mark or other line ends is read', async () => {
    await put('a.md', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(markdown('alpha'), 'utf16le')]))
    await put('b.md', `\uFEFF${markdown('beta')}`)
    await put('c.md', markdown('gamma').replaceAll('\n', '\r\n'))
    await put('d.md', markdown('delta').replaceAll('\n', '\r'))
    const { names, agents, said } = await load()
    expect(names).toEqual(['alpha', 'beta', 'gamma', 'delta'])
    expect(new Set(agents.map(({ instructions }) => instructions))).toEqual(new Set(['Do it well.']))
    expect(said).toEqual([])
  })

  test('A15 bytes that are no UTF-8 are replaced and reported; what is no text is no agent', async () => {
    await put('a.md', Buffer.concat([Buffer.from(markdown('alpha')), Buffer.from([0xc3, 0x28, 0xff])]))
    await put('b.md', Buffer.concat([Buffer.from(markdown('beta')), Buffer.from([0, 1, 2])]))
    await put('page.md', Buffer.from([0x23, 0x20, 0xff, 0xfe]))
    const { names, said } = await load()
    expect(names).toEqual(['alpha'])
    expect(said).toEqual([expect.stringContaining('a.md:1 is not valid UTF-8')])
  })

  test('A15 a huge file is an error only if it begins like an agent', async () => {
    await put('a.md', markdown('alpha') + 'x'.repeat(2_000_000))
    await put('README.md', `# Long\n${'x'.repeat(2_000_000)}`)
    await put('lock.yaml', `agents:\n${'- x\n'.repeat(500_000)}`)
    const { names, said } = await load()
    expect(names).toEqual([])
    expect(said).toEqual([expect.stringMatching(/^error a\.md:1 .*too many/)])
  })

  test('A15 an empty folder, empty files and frontmatter alone are no errors', async () => {
    expect(await load()).toMatchObject({ names: [], said: [] })
    await put('a.md', '')
    await put('b.md', '---\n---\n')
    await put('c.yaml', '')
    await put('d.md', '---\nname: delta\ndescription: d\n---')
    expect(await load()).toMatchObject({ names: ['delta'], said: [expect.stringContaining('no instructions')] })
  })
})

describe('text that is not what it seems', () => {
  test('A15 names may be in any script; those that would break a line are not taken', async () => {
    for (const name of ['审查员', 'Prüfer', 'مراجع', 'Agent 007 🕵️', 'a:b', 'on']) {
      expect((await parseAgentFile(markdown(name), 'x.md'))?.agent.name).toBe(name)
    }
    const decomposed = await parseAgentFile(markdown('Pru\u0308fer'), 'x.md')
    expect(decomposed?.agent.name).toBe('Prüfer')
    for (const bad of ['"a\\nb"', '"a\\u001b[31m"', '""', '[a]']) {
      const read = await parseAgentFile(markdown(bad), 'x.md')
      expect(read?.agent.name).toBe('x')
      expect(read?.problems[0]).toMatchObject({ level: 'warning', line: 2 })
    }
  })

  test.each<[string, string]>([
    ['quotes that never end', 'a: "b\n'.repeat(900)],
    ['brackets that never end', 'a: [[[\n'.repeat(900)],
    ['maps in maps', Array.from({ length: 300 }, (_, depth) => `${' '.repeat(depth)}k: "`).join('\n')],
    ['deep brackets', `a: ${'['.repeat(30_000)}`],
    ['colons', `description: ${': '.repeat(30_000)}`],
    ['backslashes', `description: "${'\\'.repeat(60_001)}`],
    ['commas and parentheses', `tools: ${'(,'.repeat(30_000)}`],
    ['dashes', `${'-'.repeat(60_000)}: x`],
  ])(
    'A15 %s do not take long',
    async (_, head) => {
      const text = `---\nname: a\n${head}\n---\nx`
      const read = await parseAgentFile(text, 'a.md').catch((error: unknown) => error)
      expect(read === undefined || read instanceof Error || typeof read === 'object').toBe(true)
    },
    5000,
  )

  test('A15 frontmatter that goes on for pages is refused if it is an agent, and passed over if not', async () => {
    const long = 'x: y\n'.repeat(2000)
    await expect(parseAgentFile(`---\nname: a\n${long}---\n`, 'a.md')).rejects.toMatchObject({
      code: 'invalid_agent_file',
    })
    expect(await parseAgentFile(`---\n\nA page.\n${'words\n'.repeat(2000)}---\n`, 'a.md')).toBeUndefined()
  })

  test('A15 a page between two rules is no agent', async () => {
    expect(await parseAgentFile('---\n\nSome words.\n\nMore words: here.\n\n---\n\nEnd', 'a.md')).toBeUndefined()
    expect(await parseAgentFile('---\n\n**Note:** read this\n\n---\n', 'a.md')).toBeUndefined()
  })
})

describe('whatever is written', () => {
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

  test('A10 no list of tools grants what nobody knows', async () => {
    await fc.assert(
      fc.asyncProperty(junk, async (tools) => {
        const read = await parseAgentFile(`---\nname: a\ndescription: d\ntools: ${tools}\n---\nx`, 'a.md').catch(
          () => undefined,
        )
        for (const name of read?.agent.tools ?? []) {
          expect(BUILT_IN_TOOLS.includes(name) || name.startsWith('mcp__') || name.includes('/')).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('A15 any frontmatter is read, passed over or refused, and what is kept can be written down', async () => {
    await fc.assert(
      fc.asyncProperty(junk, junk, async (head, body) => {
        const read = await parseAgentFile(`---\nname: a\n${head}\n---\n${body}`, 'a.md').catch(
          (error: unknown) => error,
        )
        if (read === undefined || read instanceof Error) return
        expect(JSON.parse(JSON.stringify(read))).toEqual(read)
      }),
      { numRuns: 300 },
    )
  })
})
