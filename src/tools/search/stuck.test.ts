import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { callTool, workbench } from '../../../test/escape/workbench.ts'
import { createTools } from '../tools.ts'
import { unlessStuck } from './stuck.ts'

/** A world in which two seconds are over at once. */
const world = { sleep: async () => {} }

test('TO69 a pipe in place of a .gitignore stops no search, and both engines answer alike', async () => {
  using bench = workbench({ world })
  bench.put('a.txt', 'word\n')
  bench.put('below/b.txt', 'word\n')
  bench.put('fine/.gitignore', 'c.txt\n')
  bench.put('fine/c.txt', 'word\n')
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
  using bench = workbench({ world })
  bench.put('a.txt', 'word\n')
  bench.put('.gitignore', 'b.txt\n')
  expect((await bench.call('Grep', { pattern: 'word' })).text).toContain('a.txt')
})

test('TO79 a pipe or a huge file in place of an ignore file costs neither time nor memory without end', async () => {
  using bench = workbench({ world })
  bench.put('a.txt', 'word\n')
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
  const search = (trapped: Set<string>, path: string) =>
    unlessStuck(
      { root: { folder: path, path, names: [] }, trapped, signal: new AbortController().signal, ...world },
      async () => {
        began.push(path)
        throw new Error('out of memory')
      },
      async () => 'another way',
    )
  using bench = workbench({ sandbox: 'none' })
  execFileSync('mkfifo', ['.gitignore'], { cwd: bench.workspace })
  const trapped = new Set<string>()
  expect(await search(trapped, bench.workspace)).toBe('another way')
  expect(await search(trapped, bench.workspace)).toBe('another way')
  execFileSync('rm', ['.gitignore'], { cwd: bench.workspace })
  await expect(search(trapped, bench.workspace)).rejects.toThrow('out of memory')
  expect(began).toHaveLength(2)
})

test('TO80 no .rgignore or .ignore hides a file from a search', async () => {
  using bench = workbench({ world })
  bench.put('below/a.txt', 'word\n')
  bench.put('below/.rgignore', 'a.txt\n')
  bench.put('.ignore', 'a.txt\n')
  expect((await bench.call('Grep', { pattern: 'word' })).text).toContain('a.txt')
  expect((await bench.call('Glob', { pattern: '**/*.txt' })).text).toContain('a.txt')
})
