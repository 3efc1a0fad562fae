import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { callTool, createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createTools } from '../tools.ts'
import { withSearchFallback } from './search-fallback.ts'

/** A world in which two seconds are over at once. */
const world = { sleep: async () => {} }

test('TO69 a pipe in place of a .gitignore stops no search, and both engines answer alike', async () => {
  using bench = createToolWorkspace({ world })
  bench.writeFile('a.txt', 'word\n')
  bench.writeFile('below/b.txt', 'word\n')
  bench.writeFile('fine/.gitignore', 'c.txt\n')
  bench.writeFile('fine/c.txt', 'word\n')
  execFileSync('sh', ['-c', 'mkfifo .gitignore; cd below; mkfifo pipe; ln -s pipe .gitignore'], {
    cwd: bench.workspace,
  })
  const without = createTools({ workspace: bench.workspace, sandbox: 'none', ripgrep: false })
  const grep = { pattern: 'word', output_mode: 'content' }
  const { text } = await bench.call('Grep', grep)
  expect(text.match(/\w+\.txt/g)).toEqual(['a.txt', 'b.txt'])
  expect((await callTool(without, 'Grep', grep)).text).toBe(text)
  const glob = { pattern: '**/*.txt' }
  expect((await bench.call('Glob', glob)).text).toBe((await callTool(without, 'Glob', glob)).text)
})

test('TO69 a search that is slow, and not stuck, is left to its end', async () => {
  using bench = createToolWorkspace({ world })
  bench.writeFile('a.txt', 'word\n')
  bench.writeFile('.gitignore', 'b.txt\n')
  expect((await bench.call('Grep', { pattern: 'word' })).text).toContain('a.txt')
})

test('TO79 a pipe or a huge file in place of an ignore file costs neither time nor memory without end', async () => {
  using bench = createToolWorkspace({ world })
  bench.writeFile('a.txt', 'word\n')
  const files = { pattern: '**/*.txt' }
  for (const trap of ['mkfifo .rgignore', 'truncate -s 4G .gitignore', 'mkdir deep; truncate -s 4G deep/.gitignore']) {
    execFileSync('sh', ['-c', trap], { cwd: bench.workspace })
    expect((await bench.call('Glob', files)).text, trap).toContain('a.txt')
    execFileSync('sh', ['-c', 'rm -rf .rgignore .gitignore deep'], { cwd: bench.workspace })
  }
  expect((await bench.call('Glob', files)).text).toContain('a.txt')
})

test('TO79 where a search was stuck the next one is not begun the same way', async () => {
  const began: string[] = []
  const search = (blockedRoots: Set<string>, path: string) =>
    withSearchFallback(
      { root: { folder: path, path, segments: [] }, blockedRoots, signal: new AbortController().signal, ...world },
      async () => {
        began.push(path)
        throw new Error('out of memory')
      },
      async () => 'another way',
    )
  using bench = createToolWorkspace({ sandbox: 'none' })
  execFileSync('mkfifo', ['.gitignore'], { cwd: bench.workspace })
  const trapped = new Set<string>()
  expect(await search(trapped, bench.workspace)).toBe('another way')
  expect(await search(trapped, bench.workspace)).toBe('another way')
  execFileSync('rm', ['.gitignore'], { cwd: bench.workspace })
  await expect(search(trapped, bench.workspace)).rejects.toThrow('out of memory')
  expect(began).toHaveLength(2)
})

test('TO80 no .rgignore or .ignore hides a file from a search', async () => {
  using bench = createToolWorkspace({ world })
  bench.writeFile('below/a.txt', 'word\n')
  bench.writeFile('below/.rgignore', 'a.txt\n')
  bench.writeFile('.ignore', 'a.txt\n')
  expect((await bench.call('Grep', { pattern: 'word' })).text).toContain('a.txt')
  expect((await bench.call('Glob', { pattern: '**/*.txt' })).text).toContain('a.txt')
})
