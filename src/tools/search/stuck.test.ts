import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { callTool, workbench } from '../../../test/escape/workbench.ts'
import { createTools } from '../tools.ts'

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
