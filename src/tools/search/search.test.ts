import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { ToolCallOutcome, ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { callTool, createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createTools } from '../tools.ts'

/** One workspace with three search engines: sandboxed ripgrep, plain ripgrep, and JavaScript. */
function createEngines(): ToolWorkspace & { all(tool: string, input: unknown): Promise<ToolCallOutcome[]> } {
  const fixture = createToolWorkspace()
  const plain = createTools({ workspace: fixture.workspace, sandbox: 'none' })
  const javascript = createTools({ workspace: fixture.workspace, sandbox: 'none', ripgrep: false })
  const toolboxes = [fixture.toolbox, plain, javascript]
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

/** Calls the tool with all engines and expects equal results. */
async function callAll(fixture: ReturnType<typeof createEngines>, tool: string, input: unknown): Promise<string> {
  const [sandboxed, plain, javascript] = await fixture.all(tool, input)
  expect(javascript?.text, JSON.stringify(input)).toBe(sandboxed?.text)
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
  test('TO19 Grep returns the same results with and without ripgrep: modes, context, case, types, globs, pages', async () => {
    const fixture = createFixture()
    fixture.writeFile('a.ts', 'const alpha = 1\nconst beta = 2\n\nconst gamma = 3\nexport { alpha }\n')
    fixture.writeFile('src/b.js', 'Alpha\r\nbeta\r\n')
    fixture.writeFile('note.md', '# alpha\n'.repeat(40))
    fixture.writeFile('bin', Buffer.from('alpha\n\0alpha\n'))
    const mode = { output_mode: 'content' }
    expect(await callAll(fixture, 'Grep', { pattern: 'alpha' })).toContain('a.ts\n')
    expect(await callAll(fixture, 'Grep', { pattern: 'alpha', ...mode, type: 'ts' })).toBe(
      'a.ts:1:const alpha = 1\na.ts:5:export { alpha }',
    )
    const withContext = await callAll(fixture, 'Grep', { pattern: 'alpha', ...mode, glob: '*.ts', '-C': 1 })
    expect(withContext).toBe(
      'a.ts:1:const alpha = 1\na.ts-2-const beta = 2\n--\na.ts-4-const gamma = 3\na.ts:5:export { alpha }',
    )
    const inputs = [
      { pattern: 'ALPHA', '-i': true, output_mode: 'count' },
      { pattern: '(?i)ALPHA', output_mode: 'count' },
      { pattern: 'beta$', ...mode },
      { pattern: '^const \\w+ = \\d', ...mode, '-n': false },
      { pattern: 'alpha', ...mode, glob: 'src/**' },
      { pattern: 'alpha', ...mode, glob: '!*.md' },
      { pattern: 'alpha', path: 'a.ts', ...mode, '-A': 1 },
      { pattern: '2\\s+const', multiline: true, ...mode },
      { pattern: '2.*gamma', multiline: true, ...mode },
      { pattern: 'alpha', ...mode, head_limit: 3, offset: 1 },
      { pattern: 'nowhere' },
      { pattern: 'a(', ...mode },
      { pattern: '(?=alpha)' },
      { pattern: '(a)\\1' },
    ]
    for (const input of inputs) await callAll(fixture, 'Grep', input)
  })

  test('TO20 patterns have the same meaning in both engines', async () => {
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
    const patterns = [
      '\\bbar\\b',
      '\\w+ \\d',
      '[[:alpha:]]+\\.[b-d]',
      'x\\[1\\]',
      '\\t',
      '\\p{Lu}{2}',
      '\\{ \\}',
      'a/b',
      '\\$$',
      '\\\\d',
      '^[^a-z]+$',
      '(?P<word>foo)[ -]bar',
      '\\d{2}',
      '(?:naïve|grün)',
      '[]x]',
      '\\x66oo',
      '[\\w-]+',
      '\\S\\s\\S',
      'o{2}|e$',
      '.\\B.',
    ]
    for (const pattern of patterns) {
      const text = await callAll(fixture, 'Grep', { pattern, output_mode: 'content' })
      expect(text, pattern).toContain('t.txt:')
    }
  })

  test('TO76 no glob in a search or a .gitignore causes exponential run time', async () => {
    const fixture = createFixture()
    fixture.writeFile('a'.repeat(250), 'word\n')
    const blanks = `c${' '.repeat(100_000)}d`
    fixture.writeFile('.gitignore', `${'*a'.repeat(60)}*b\n${'**/*a*a*a*a/'.repeat(20)}b\n${blanks}\n`)
    expect(await callAll(fixture, 'Glob', { pattern: `${'*a'.repeat(100)}*b` })).toContain('no files match')
    expect(await callAll(fixture, 'Glob', { pattern: `${'*a'.repeat(100)}*` })).toContain('aaa')
  })

  test('TO21 .gitignore files exclude the same files in both engines', async () => {
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
      for (const path of ['.', 'a', 'd', 'm', 'b']) {
        await callAll(fixture, 'Glob', { pattern: '**', path })
        await callAll(fixture, 'Grep', { pattern: 'word', path })
      }
    }
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

  test('TO23 a catastrophic regular expression is stopped', async () => {
    const fixture = createFixture()
    fixture.writeFile('a.txt', `${'a'.repeat(40)}!\n`)
    const javascript = createTools({ workspace: fixture.workspace, sandbox: 'none', ripgrep: false })
    const result = await callTool(javascript, 'Grep', { pattern: '(a+)+$' })
    expect(result.text).toContain('takes too long')
  })

  test('TO24 a missing ripgrep is an error, not a silent fallback', async () => {
    const fixture = createFixture()
    const broken = createTools({ workspace: fixture.workspace, sandbox: 'none', ripgrep: '/nowhere/rg' })
    expect((await callTool(broken, 'Grep', { pattern: 'x' })).text).toContain('ripgrep did not start')
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
