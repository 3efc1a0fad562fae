import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { ToolCallOutcome, ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { callTool, createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { requireProgram } from '../../../test/support/require-program.ts'
import { createTools } from '../tools.ts'
import { globTool } from './glob-tool.ts'
import { grepTool } from './grep-tool.ts'
import { createRipgrep, findRipgrep } from './ripgrep.ts'
import { createSearcher } from './searcher.ts'

/** One workspace, searched by ripgrep in the sandbox and without it. */
function createEngines(): ToolWorkspace & { all(tool: string, input: unknown): Promise<ToolCallOutcome[]> } {
  const fixture = createToolWorkspace()
  const plain = createTools({ workspace: fixture.workspace, sandbox: 'none' })
  const toolboxes = [fixture.toolbox, plain]
  return { ...fixture, all: (tool, input) => Promise.all(toolboxes.map((box) => callTool(box, tool, input))) }
}

const fixtures: ToolWorkspace[] = []
afterAll(() => {
  for (const used of fixtures) used[Symbol.dispose]()
})

function createFixture() {
  const fixture = createEngines()
  fixtures.push(fixture)
  return fixture
}

/** Calls the tool in the sandbox and without it, and expects equal results. */
async function callAll(fixture: ReturnType<typeof createEngines>, tool: string, input: unknown): Promise<string> {
  const [sandboxed, plain] = await fixture.all(tool, input)
  expect(plain?.text, JSON.stringify(input)).toBe(sandboxed?.text)
  return sandboxed?.text ?? ''
}

describe('Glob', () => {
  test('TO17 Glob returns matching files sorted, with hidden files, without those that .gitignore excludes', async () => {
    const fixture = createFixture()
    for (const path of ['a.ts', 'src/b.ts', 'src/deep/c.tsx', '.env', 'dist/d.ts', 'src/dist.ts', '.git/config']) {
      fixture.writeFile(path, '')
    }
    fixture.writeFile('.gitignore', 'dist/\n')
    expect(await callAll(fixture, 'Glob', { pattern: '*.ts' })).toBe('a.ts\nsrc/b.ts\nsrc/dist.ts')
    expect(await callAll(fixture, 'Glob', { pattern: 'src/**' })).toBe('src/b.ts\nsrc/deep/c.tsx\nsrc/dist.ts')
    expect(await callAll(fixture, 'Glob', { pattern: '**/*.{tsx,env}' })).toBe('.env\nsrc/deep/c.tsx')
    expect(await callAll(fixture, 'Glob', { pattern: '*.ts', path: 'src' })).toBe('src/b.ts\nsrc/dist.ts')
    expect(await callAll(fixture, 'Glob', { pattern: '**/*.ts', path: 'dist' })).toBe('dist/d.ts')
    expect(await callAll(fixture, 'Glob', { pattern: `${fixture.workspace}/src/*.ts` })).toBe('src/b.ts\nsrc/dist.ts')
    expect(await callAll(fixture, 'Glob', { pattern: '*.none' })).toBe('[no files match]')
  })

  test('TO18 a long list is returned in pages', async () => {
    const fixture = createFixture()
    for (let index = 0; index < 30; index++) fixture.writeFile(`f${String(index).padStart(2, '0')}`, '')
    const text = await callAll(fixture, 'Glob', { pattern: 'f*', head_limit: 10, offset: 5 })
    expect(text).toContain('[6 to 15 of 30; continue with offset 15]')
    expect(text.split('\n')).toHaveLength(11)
  })
})

describe('Grep', () => {
  test('modes, context, case, types, globs and pages, in the sandbox and without it', async () => {
    const fixture = createFixture()
    fixture.writeFile('a.ts', 'const alpha = 1\nconst beta = 2\n\nconst gamma = 3\nexport { alpha }\n')
    fixture.writeFile('src/b.js', 'Alpha\r\nbeta\r\n')
    fixture.writeFile('note.md', '# alpha\n'.repeat(40))
    fixture.writeFile('bin', Buffer.from('alpha\n\0alpha\n'))
    const mode = { output_mode: 'content' }
    const count = { output_mode: 'count' }
    const notes = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, index) => `note.md:${from + index}:# alpha`)
    const cases: [input: object, expected: string | string[]][] = [
      [{ pattern: 'alpha' }, ['a.ts', 'note.md']],
      [{ pattern: 'alpha', ...mode, type: 'ts' }, ['a.ts:1:const alpha = 1', 'a.ts:5:export { alpha }']],
      [
        { pattern: 'alpha', ...mode, glob: '*.ts', '-C': 1 },
        ['a.ts:1:const alpha = 1', 'a.ts-2-const beta = 2', '--', 'a.ts-4-const gamma = 3', 'a.ts:5:export { alpha }'],
      ],
      [{ pattern: 'ALPHA', '-i': true, ...count }, ['a.ts:2', 'note.md:40', 'src/b.js:1']],
      [{ pattern: '(?i)ALPHA', ...count }, ['a.ts:2', 'note.md:40', 'src/b.js:1']],
      [{ pattern: 'beta', ...mode }, ['a.ts:2:const beta = 2', 'src/b.js:2:beta']],
      [
        { pattern: '^const \\w+ = \\d', ...mode, '-n': false },
        ['alpha = 1', 'beta = 2', 'gamma = 3'].map((line) => `a.ts:const ${line}`),
      ],
      [{ pattern: 'lpha', ...mode, glob: 'src/**' }, 'src/b.js:1:Alpha'],
      [{ pattern: 'alpha', ...mode, glob: '!*.md' }, ['a.ts:1:const alpha = 1', 'a.ts:5:export { alpha }']],
      [{ pattern: 'alpha', path: 'a.ts' }, 'a.ts'],
      [{ pattern: 'alpha', path: 'a.ts', ...count }, 'a.ts:2'],
      [{ pattern: 'beta', path: 'src/b.js', ...mode }, 'src/b.js:2:beta'],
      [{ pattern: 'const alpha', path: 'a.ts', ...mode, '-A': 1 }, ['a.ts:1:const alpha = 1', 'a.ts-2-const beta = 2']],
      [
        { pattern: '2\\s+const', multiline: true, ...mode },
        ['a.ts:2:const beta = 2', 'a.ts:3:', 'a.ts:4:const gamma = 3'],
      ],
      [
        { pattern: '2.*gamma', multiline: true, ...mode },
        ['a.ts:2:const beta = 2', 'a.ts:3:', 'a.ts:4:const gamma = 3'],
      ],
      [
        { pattern: 'alpha', ...mode, head_limit: 3, offset: 1 },
        ['a.ts:5:export { alpha }', ...notes(1, 2), '[2 to 4 of 42; continue with offset 4]'],
      ],
      [{ pattern: 'nowhere' }, '[no matches]'],
    ]
    for (const [input, expected] of cases) {
      const text = await callAll(fixture, 'Grep', input)
      expect(text, JSON.stringify(input)).toBe([expected].flat().join('\n'))
    }
  })

  test('TO20 patterns have the syntax of ripgrep', async () => {
    const fixture = createFixture()
    const lines = [
      'foo bar',
      'foo-bar',
      'grün 7',
      'a.b',
      'x[1]',
      'tab\there',
      'ÄÖ',
      '{ }',
      'a/b',
      'end$',
      '\\d',
      '١٢',
      'naïve_1',
    ]
    fixture.writeFile('t.txt', `${lines.join('\n')}\n`)
    const patterns: Record<string, string[]> = {
      '\\bbar\\b': ['foo bar', 'foo-bar'],
      '\\w+ \\d': ['grün 7'],
      '[[:alpha:]]+\\.[b-d]': ['a.b'],
      'x\\[1\\]': ['x[1]'],
      '\\t': ['tab\there'],
      '\\p{Lu}{2}': ['ÄÖ'],
      '\\{ \\}': ['{ }'],
      'a/b': ['a/b'],
      '\\$$': ['end$'],
      '\\\\d': ['\\d'],
      '^[^a-z]+$': ['ÄÖ', '{ }', '١٢'],
      '(?P<word>foo)[ -]bar': ['foo bar', 'foo-bar'],
      '\\d{2}': ['١٢'],
      '(?:naïve|grün)': ['grün 7', 'naïve_1'],
      '[]x]': ['x[1]'],
      '\\x66oo': ['foo bar', 'foo-bar'],
      '^[\\w-]+$': ['foo-bar', 'ÄÖ', '١٢', 'naïve_1'],
      '\\S\\s\\S': ['foo bar', 'grün 7', 'tab\there', '{ }'],
      'o{2}|e$': ['foo bar', 'foo-bar', 'tab\there'],
      '^[a-z&&[^b]]\\.': ['a.b'],
    }
    for (const [pattern, expected] of Object.entries(patterns)) {
      const text = await callAll(fixture, 'Grep', { pattern, output_mode: 'content', '-n': false })
      expect(text, pattern).toBe(expected.map((line) => `t.txt:${line}`).join('\n'))
    }
  })

  test('TO20 what ripgrep does not accept is an error of the call, with the reason', async () => {
    const fixture = createFixture()
    fixture.writeFile('t.txt', 'alpha\n')
    const rejected: [input: object, reason: string][] = [
      [{ pattern: '(?=alpha)' }, 'look-around, including look-ahead and look-behind, is not supported'],
      [{ pattern: '(a)\\1' }, 'backreferences are not supported'],
      [{ pattern: 'a(' }, 'unclosed group'],
      [{ pattern: 'a\\nb' }, 'multiline'],
      [{ pattern: 'alpha', type: 'unknown' }, 'unrecognized file type: unknown'],
      [{ pattern: '(?=alpha)', path: 't.txt' }, 'look-around'],
    ]
    for (const [input, reason] of rejected) {
      const [sandboxed, plain] = await fixture.all('Grep', input)
      for (const result of [sandboxed, plain])
        expect(result, JSON.stringify(input)).toMatchObject({
          code: 'tool_failed',
          text: expect.stringContaining(reason),
        })
      expect(sandboxed?.text).not.toContain('PCRE2')
    }
  })

  test('TO23 no glob in a search or a .gitignore causes exponential run time', async () => {
    const fixture = createFixture()
    fixture.writeFile('a'.repeat(250), 'word\n')
    const blanks = `c${' '.repeat(100_000)}d`
    fixture.writeFile('.gitignore', `${'*a'.repeat(60)}*b\n${'**/*a*a*a*a/'.repeat(20)}b\n${blanks}\n`)
    expect(await callAll(fixture, 'Glob', { pattern: `${'*a'.repeat(100)}*b` })).toContain('no files match')
    expect(await callAll(fixture, 'Glob', { pattern: `${'*a'.repeat(100)}*` })).toContain('aaa')
  })

  test('TO21 .gitignore files exclude the same files as git', async () => {
    const rules = [
      '*.log',
      '!keep.log',
      '/top',
      'a/**/z',
      'b/',
      'c/*',
      '!c/keep',
      '**/deep',
      'sp\\ ace',
      '[xy].txt',
      'e/**',
      '\\#h',
      'q?',
    ]
    const names = ['top', 'keep.log', 'x.log', 'x.txt', 'keep', 'z', 'deep', 'sp ace', '#h', 'qq', 'b', 'plain']
    requireProgram('git')
    let seen = 0
    for (let seed = 1; seed <= 12; seed++) {
      const random = createRandom(seed)
      const fixture = createFixture()
      for (let count = 0; count < 40; count++) {
        const depth = 1 + Math.floor(random() * 3)
        const folders = Array.from({ length: depth }, () => pick(random, ['a', 'b', 'c', 'd', 'e', 'deep', 'm']))
        const path = [...folders, pick(random, names)].slice(random() < 0.3 ? -1 : 0).join('/')
        try {
          fixture.writeFile(path, 'word\n')
        } catch {
          // The path is already a folder.
        }
      }
      for (const folder of ['', 'a/', 'd/', 'm/']) {
        const chosen = rules.filter(() => random() < 0.4)
        try {
          fixture.writeFile(`${folder}.gitignore`, chosen.join('\n'))
        } catch {
          // The folder is a file.
        }
      }
      const visible = visibleToGit(fixture.workspace)
      seen += visible.length
      for (const path of ['.', 'a', 'a/b', 'd', 'm', 'b']) {
        const folder = join(fixture.workspace, path)
        if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory() || isIgnoredByGit(fixture.workspace, path))
          continue
        const expected = visible.filter((file) => path === '.' || file.startsWith(`${path}/`))
        const listed = await callAll(fixture, 'Glob', { pattern: '**', path })
        expect(listed, `${seed} ${path}`).toBe(expected.join('\n') || '[no files match]')
        const matching = expected.filter((file) => !file.endsWith('.gitignore')).join('\n')
        expect(await callAll(fixture, 'Grep', { pattern: '^word', path })).toBe(matching || '[no matches]')
      }
    }
    expect(seen).toBeGreaterThan(100)
  })

  test('TO22 searches do not follow symlinks, and a symlink loop ends', async () => {
    const fixture = createFixture()
    fixture.writeFile('real/a.txt', 'word')
    symlinkSync('..', join(fixture.workspace, 'real/up'))
    symlinkSync(fixture.outside, join(fixture.workspace, 'out'))
    execFileSync('sh', ['-c', `echo word > ${fixture.outside}/secret.txt`])
    expect(await callAll(fixture, 'Grep', { pattern: 'word' })).toBe('real/a.txt')
    expect(await callAll(fixture, 'Glob', { pattern: '**' })).toBe('real/a.txt')
    expect(await callAll(fixture, 'Grep', { pattern: 'word', path: 'out' })).toContain('outside the workspace')
  })

  test('TO21 the .gitignore of a folder above the searched one applies, not those above the workspace', async () => {
    const fixture = createFixture()
    for (const path of ['m/a.log', 'm/a.txt', 'm/n/top', 'm/n/b.log', 'm/n/b.txt']) fixture.writeFile(path, 'word\n')
    fixture.writeFile('.gitignore', '*.log\n')
    fixture.writeFile('m/.gitignore', '/n/top\n')
    expect(await callAll(fixture, 'Glob', { pattern: '*', path: 'm/n' })).toBe('m/n/b.txt')
    writeFileSync(join(fixture.root, '.gitignore'), '*\n')
    const above = createTools({ workspace: fixture.workspace, sandbox: 'none' })
    for (const toolbox of [fixture.toolbox, above])
      expect((await callTool(toolbox, 'Glob', { pattern: '**/*.txt' })).text).toBe('m/a.txt\nm/n/b.txt')
    expect((await callTool(fixture.toolbox, 'Glob', { pattern: '*', path: 'm/n' })).text).toBe('m/n/b.txt')
    const subfolder = await callTool(above, 'Glob', { pattern: '*', path: 'm/n' })
    expect(subfolder.text).toBe('m/n/b.log\nm/n/b.txt\nm/n/top')
  })

  test('TO23 no regular expression causes exponential run time', async () => {
    const fixture = createFixture()
    fixture.writeFile('a.txt', `${'a'.repeat(5000)}!\n`)
    expect(await callAll(fixture, 'Grep', { pattern: '(a+)+$' })).toBe('[no matches]')
    expect(await callAll(fixture, 'Grep', { pattern: '(a+)+$', path: 'a.txt' })).toBe('[no matches]')
  })

  test('TO24 without ripgrep, Grep and Glob fail and name the package; there is no other engine', async () => {
    const fixture = createFixture()
    fixture.writeFile('a.txt', 'x\n')
    const { workspace } = fixture.toolbox
    const searcher = createSearcher(workspace, createRipgrep({ ripgrep: undefined, sleep: async () => {} }, workspace))
    const missing = { ...fixture.toolbox, tools: [grepTool(searcher, workspace), globTool(searcher, workspace)] }
    const broken = createTools({ workspace: fixture.workspace, sandbox: 'none', ripgrep: '/nowhere/rg' })
    for (const [toolbox, reason] of [
      [missing, 'ripgrep cannot be started'],
      [broken, 'ripgrep did not start'],
    ] as const)
      for (const [name, input] of [
        ['Grep', { pattern: 'x' }],
        ['Grep', { pattern: 'x', path: 'a.txt' }],
        ['Glob', { pattern: '*' }],
      ] as const) {
        const { success, text } = await callTool(toolbox, name, input)
        expect(success).toBe(false)
        expect(text).toContain(reason)
        expect(text).toContain('`@vscode/ripgrep`')
      }
  })

  test('TO95 ripgrep is that of the package; the `rg` of the system serves where the package has none', () => {
    const fixture = createFixture()
    const packaged = findRipgrep([], '/nowhere') ?? ''
    expect(packaged).toMatch(/@vscode\/ripgrep-[^/]+\/bin\/rg$/)
    const system = join(fixture.outside, 'bin')
    mkdirSync(system)
    symlinkSync(packaged, join(system, 'rg'))
    expect(findRipgrep([fixture.workspace], system)).toBe(packaged)
    expect(findRipgrep([dirname(packaged)], system)).toBe(join(system, 'rg'))
    expect(findRipgrep([dirname(packaged)], '/nowhere')).toBeUndefined()
  })

  test('TO25 file names and contents that are not valid text do not stop a search', async () => {
    const fixture = createFixture()
    mkdirSync(join(fixture.workspace, 'we ird'))
    fixture.writeFile('we ird/new\nline.txt', 'word')
    fixture.writeFile('latin.txt', Buffer.from([0x66, 0xfc, 0x0a, 0x77, 0x6f, 0x72, 0x64, 0x0a]))
    fixture.writeFile('utf16.txt', Buffer.from('\ufeffword\n', 'utf16le'))
    const text = await callAll(fixture, 'Grep', { pattern: 'word', output_mode: 'content' })
    expect(text).toContain('latin.txt:2:word')
    expect(text).toContain('utf16.txt:1:word')
    await callAll(fixture, 'Grep', { pattern: 'word', output_mode: 'count' })
  })
})

/** The files that git does not ignore, sorted. */
function visibleToGit(workspace: string): string[] {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: workspace, encoding: 'utf8' })
  git('init', '-q')
  return git('ls-files', '--others', '--exclude-per-directory=.gitignore', '-z').split('\0').filter(Boolean).sort()
}

function isIgnoredByGit(workspace: string, path: string): boolean {
  return path !== '.' && spawnSync('git', ['check-ignore', '-q', '--no-index', path], { cwd: workspace }).status === 0
}

function createRandom(seed: number): () => number {
  let state = seed * 2654435761
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function pick<T>(random: () => number, choices: readonly T[]): T {
  return choices[Math.floor(random() * choices.length)] as T
}
