import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { callTool, createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createTools } from '../tools.ts'
import { withSearchFallback } from './search-fallback.ts'

/** A clock whose sleep ends at once. */
const world = { sleep: async () => {} }

test('TO69 a named pipe as .gitignore does not block a search, and both engines return the same', async () => {
  using fixture = createToolWorkspace({ world })
  fixture.writeFile('a.txt', 'word\n')
  fixture.writeFile('below/b.txt', 'word\n')
  fixture.writeFile('fine/.gitignore', 'c.txt\n')
  fixture.writeFile('fine/c.txt', 'word\n')
  execFileSync('sh', ['-c', 'mkfifo .gitignore; cd below; mkfifo pipe; ln -s pipe .gitignore'], {
    cwd: fixture.workspace,
  })
  const javascript = createTools({ workspace: fixture.workspace, sandbox: 'none', ripgrep: false })
  const grep = { pattern: 'word', output_mode: 'content' }
  const { text } = await fixture.call('Grep', grep)
  expect(text.match(/\w+\.txt/g)).toEqual(['a.txt', 'b.txt'])
  expect((await callTool(javascript, 'Grep', grep)).text).toBe(text)
  const glob = { pattern: '**/*.txt' }
  expect((await fixture.call('Glob', glob)).text).toBe((await callTool(javascript, 'Glob', glob)).text)
})

test('TO69 a slow search that is not blocked is not aborted', async () => {
  using fixture = createToolWorkspace({ world })
  fixture.writeFile('a.txt', 'word\n')
  fixture.writeFile('.gitignore', 'b.txt\n')
  expect((await fixture.call('Grep', { pattern: 'word' })).text).toContain('a.txt')
})

test('TO79 an ignore file that is a named pipe or huge neither blocks a search nor exhausts memory', async () => {
  using fixture = createToolWorkspace({ world })
  fixture.writeFile('a.txt', 'word\n')
  const files = { pattern: '**/*.txt' }
  for (const trap of ['mkfifo .rgignore', 'truncate -s 4G .gitignore', 'mkdir deep; truncate -s 4G deep/.gitignore']) {
    execFileSync('sh', ['-c', trap], { cwd: fixture.workspace })
    expect((await fixture.call('Glob', files)).text, trap).toContain('a.txt')
    execFileSync('sh', ['-c', 'rm -rf .rgignore .gitignore deep'], { cwd: fixture.workspace })
  }
  expect((await fixture.call('Glob', files)).text).toContain('a.txt')
})

test('TO79 a search of a blocked folder uses the fallback at once', async () => {
  const started: string[] = []
  const search = (blockedRoots: Set<string>, path: string) =>
    withSearchFallback(
      { root: { folder: path, path, segments: [] }, blockedRoots, signal: new AbortController().signal, ...world },
      async () => {
        started.push(path)
        throw new Error('out of memory')
      },
      async () => 'fallback',
    )
  using fixture = createToolWorkspace({ sandbox: 'none' })
  execFileSync('mkfifo', ['.gitignore'], { cwd: fixture.workspace })
  const blocked = new Set<string>()
  expect(await search(blocked, fixture.workspace)).toBe('fallback')
  expect(await search(blocked, fixture.workspace)).toBe('fallback')
  execFileSync('rm', ['.gitignore'], { cwd: fixture.workspace })
  await expect(search(blocked, fixture.workspace)).rejects.toThrow('out of memory')
  expect(started).toHaveLength(2)
})

test('TO80 .rgignore and .ignore do not exclude files from searches', async () => {
  using fixture = createToolWorkspace({ world })
  fixture.writeFile('below/a.txt', 'word\n')
  fixture.writeFile('below/.rgignore', 'a.txt\n')
  fixture.writeFile('.ignore', 'a.txt\n')
  expect((await fixture.call('Grep', { pattern: 'word' })).text).toContain('a.txt')
  expect((await fixture.call('Glob', { pattern: '**/*.txt' })).text).toContain('a.txt')
})
