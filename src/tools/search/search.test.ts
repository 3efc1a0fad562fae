import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { ToolCallOutcome, ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { callTool, createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createTools } from '../tools.ts'

/** The same workspace searched with ripgrep in its jail, with ripgrep alone, and without it. */
function both(): ToolWorkspace & { all(tool: string, input: unknown): Promise<ToolCallOutcome[]> } {
  const bench = createToolWorkspace()
  const bare = createTools({ workspace: bench.workspace, sandbox: 'none' })
  const without = createTools({ workspace: bench.workspace, sandbox: 'none', ripgrep: false })
  const boxes = [bench.toolbox, bare, without]
  return { ...bench, all: (tool, input) => Promise.all(boxes.map((box) => callTool(box, tool, input))) }
}

const benches: ToolWorkspace[] = []
afterAll(() => {
  for (const each of benches) each[Symbol.dispose]()
})

function fresh() {
  const bench = both()
  benches.push(bench)
  return bench
}

async function same(bench: ReturnType<typeof both>, tool: string, input: unknown): Promise<string> {
  const [jailed, bare, without] = await bench.all(tool, input)
  expect(without?.text, JSON.stringify(input)).toBe(jailed?.text)
  expect(bare?.text, JSON.stringify(input)).toBe(jailed?.text)
  return jailed?.text ?? ''
}

describe('Glob', () => {
  test('TO17 Glob finds files by pattern, in order, hidden ones too, and none that .gitignore hides', async () => {
    const bench = fresh()
    for (const path of ['a.ts', 'src/b.ts', 'src/deep/c.tsx', '.env', 'dist/d.ts', 'src/dist.ts', '.git/config']) {
      bench.writeFile(path, '')
    }
    bench.writeFile('.gitignore', 'dist/\n')
    expect(await same(bench, 'Glob', { pattern: '*.ts' })).toBe('a.ts\nsrc/b.ts\nsrc/dist.ts')
    expect(await same(bench, 'Glob', { pattern: 'src/**' })).toBe('src/b.ts\nsrc/deep/c.tsx\nsrc/dist.ts')
    expect(await same(bench, 'Glob', { pattern: '**/*.{tsx,env}' })).toBe('.env\nsrc/deep/c.tsx')
    expect(await same(bench, 'Glob', { pattern: '*.ts', path: 'src' })).toBe('src/b.ts\nsrc/dist.ts')
    expect(await same(bench, 'Glob', { pattern: '**/*.ts', path: 'dist' })).toBe('dist/d.ts')
    expect(await same(bench, 'Glob', { pattern: `${bench.workspace}/src/*.ts` })).toBe('src/b.ts\nsrc/dist.ts')
    expect(await same(bench, 'Glob', { pattern: '*.none' })).toBe('[no file has such a name]')
  })

  test('TO18 a long list comes in pages', async () => {
    const bench = fresh()
    for (let at = 0; at < 30; at++) bench.writeFile(`f${String(at).padStart(2, '0')}`, '')
    const text = await same(bench, 'Glob', { pattern: 'f*', head_limit: 10, offset: 5 })
    expect(text).toContain('[6 to 15 of 30; go on with offset 15]')
    expect(text.split('\n')).toHaveLength(11)
  })
})

describe('Grep', () => {
  test('TO19 Grep answers alike with and without ripgrep: modes, context, case, types, globs, pages', async () => {
    const bench = fresh()
    bench.writeFile('a.ts', 'const alpha = 1\nconst beta = 2\n\nconst gamma = 3\nexport { alpha }\n')
    bench.writeFile('src/b.js', 'Alpha\r\nbeta\r\n')
    bench.writeFile('note.md', '# alpha\n'.repeat(40))
    bench.writeFile('bin', Buffer.from('alpha\n\0alpha\n'))
    const mode = { output_mode: 'content' }
    expect(await same(bench, 'Grep', { pattern: 'alpha' })).toContain('a.ts\n')
    expect(await same(bench, 'Grep', { pattern: 'alpha', ...mode, type: 'ts' })).toBe(
      'a.ts:1:const alpha = 1\na.ts:5:export { alpha }',
    )
    const around = await same(bench, 'Grep', { pattern: 'alpha', ...mode, glob: '*.ts', '-C': 1 })
    expect(around).toBe(
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
    for (const input of inputs) await same(bench, 'Grep', input)
  })

  test('TO20 expressions mean the same in both engines', async () => {
    const bench = fresh()
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
    bench.writeFile('t.txt', `${lines.join('\n')}\n`)
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
      const text = await same(bench, 'Grep', { pattern, output_mode: 'content' })
      expect(text, pattern).toContain('t.txt:')
    }
  })

  test('TO76 neither a pattern nor a .gitignore makes a search run away', async () => {
    const bench = fresh()
    bench.writeFile('a'.repeat(250), 'word\n')
    const blanks = `c${' '.repeat(100_000)}d`
    bench.writeFile('.gitignore', `${'*a'.repeat(60)}*b\n${'**/*a*a*a*a/'.repeat(20)}b\n${blanks}\n`)
    expect(await same(bench, 'Glob', { pattern: `${'*a'.repeat(100)}*b` })).toContain('no file has such a name')
    expect(await same(bench, 'Glob', { pattern: `${'*a'.repeat(100)}*` })).toContain('aaa')
  })

  test('TO21 .gitignore hides the same files from both engines, however it is written', async () => {
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
      const random = randomOf(seed)
      const bench = fresh()
      for (let at = 0; at < 40; at++) {
        const depth = 1 + Math.floor(random() * 3)
        const folders = Array.from({ length: depth }, () => pick(random, ['a', 'b', 'c', 'd', 'e', 'deep', 'm']))
        const path = [...folders, pick(random, names)].slice(random() < 0.3 ? -1 : 0).join('/')
        try {
          bench.writeFile(path, 'word\n')
        } catch {
          // A file has the name of a folder.
        }
      }
      for (const folder of ['', 'a/', 'd/', 'm/']) {
        const chosen = rules.filter(() => random() < 0.4)
        try {
          bench.writeFile(`${folder}.gitignore`, chosen.join('\n'))
        } catch {
          // The same.
        }
      }
      for (const path of ['.', 'a', 'd', 'm', 'b']) {
        await same(bench, 'Glob', { pattern: '**', path })
        await same(bench, 'Grep', { pattern: 'word', path })
      }
    }
  }, 60_000)

  test('TO22 links are not followed, and a circle of folders ends', async () => {
    const bench = fresh()
    bench.writeFile('real/a.txt', 'word')
    symlinkSync('..', join(bench.workspace, 'real/up'))
    symlinkSync(bench.outside, join(bench.workspace, 'out'))
    execFileSync('sh', ['-c', `echo word > ${bench.outside}/secret.txt`])
    expect(await same(bench, 'Grep', { pattern: 'word' })).toBe('real/a.txt')
    expect(await same(bench, 'Glob', { pattern: '**' })).toBe('real/a.txt')
    expect(await same(bench, 'Grep', { pattern: 'word', path: 'out' })).toContain('outside the workspace')
  })

  test('TO23 an expression that runs away is stopped', async () => {
    const bench = fresh()
    bench.writeFile('a.txt', `${'a'.repeat(40)}!\n`)
    const without = createTools({ workspace: bench.workspace, sandbox: 'none', ripgrep: false })
    const answer = await callTool(without, 'Grep', { pattern: '(a+)+$' })
    expect(answer.text).toContain('takes too long')
  })

  test('TO24 a missing ripgrep is an error that says what to do; nothing is searched in its place by accident', async () => {
    const bench = fresh()
    const broken = createTools({ workspace: bench.workspace, sandbox: 'none', ripgrep: '/nowhere/rg' })
    expect((await callTool(broken, 'Grep', { pattern: 'x' })).text).toContain('ripgrep did not start')
  })

  test('TO25 names and contents that are no text do not stop a search', async () => {
    const bench = fresh()
    mkdirSync(join(bench.workspace, 'we ird'))
    bench.writeFile('we ird/new\nline.txt', 'word')
    bench.writeFile('latin.txt', Buffer.from([0x66, 0xfc, 0x0a, 0x77, 0x6f, 0x72, 0x64, 0x0a]))
    bench.writeFile('utf16.txt', Buffer.from('\ufeffword\n', 'utf16le'))
    const text = await same(bench, 'Grep', { pattern: 'word', output_mode: 'content' })
    expect(text).toContain('latin.txt:2:word')
    expect(text).toContain('utf16.txt:1:word')
    await same(bench, 'Grep', { pattern: 'word', output_mode: 'count' })
  })
})

function randomOf(seed: number): () => number {
  let state = seed * 2654435761
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T
}
