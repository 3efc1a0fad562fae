import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { callTool, createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createTools } from '../tools.ts'
import { withUnblockedSearch } from './blocking-ignore-files.ts'
import { findRipgrep } from './ripgrep.ts'

/** A clock whose sleep ends at once. */
const world = { sleep: async () => {} }

test('TO79 a named pipe as .gitignore does not block a search, which then applies no .gitignore', async () => {
  using fixture = createToolWorkspace({ world })
  fixture.writeFile('a.txt', 'word\n')
  fixture.writeFile('below/b.txt', 'word\n')
  fixture.writeFile('fine/.gitignore', 'c.txt\n')
  fixture.writeFile('fine/c.txt', 'word\n')
  fixture.writeFile('.troupe/d.txt', 'word\n')
  execFileSync('sh', ['-c', 'mkfifo .gitignore; cd below; mkfifo pipe; ln -s pipe .gitignore'], {
    cwd: fixture.workspace,
  })
  const plain = createTools({ workspace: fixture.workspace, sandbox: 'none', world })
  for (const toolbox of [fixture.toolbox, plain]) {
    const { text } = await callTool(toolbox, 'Grep', { pattern: 'word', output_mode: 'content' })
    expect(text.match(/\w+\.txt/g)).toEqual(['a.txt', 'b.txt', 'c.txt'])
    expect((await callTool(toolbox, 'Glob', { pattern: '**/*.txt' })).text).toBe('a.txt\nbelow/b.txt\nfine/c.txt')
    expect((await callTool(toolbox, 'Glob', { pattern: '*.txt', path: 'fine' })).text).toBe('fine/c.txt')
  }
})

test('TO79 a slow search that is not blocked is not aborted', async () => {
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

test('TO79 a search of a blocked folder does without ignore files at once', async () => {
  const started: string[] = []
  const search = (blockedRoots: Set<string>, path: string) =>
    withUnblockedSearch(
      {
        workspace: { realPath: path },
        root: { folder: path, path, segments: [] },
        blockedRoots,
        signal: new AbortController().signal,
        ...world,
      },
      async () => {
        started.push(path)
        throw new Error('out of memory')
      },
      async () => 'unfiltered',
    )
  using fixture = createToolWorkspace({ sandbox: 'none' })
  execFileSync('mkfifo', ['.gitignore'], { cwd: fixture.workspace })
  const blocked = new Set<string>()
  expect(await search(blocked, fixture.workspace)).toBe('unfiltered')
  expect(await search(blocked, fixture.workspace)).toBe('unfiltered')
  execFileSync('rm', ['.gitignore'], { cwd: fixture.workspace })
  await expect(search(blocked, fixture.workspace)).rejects.toThrow('out of memory')
  expect(started).toHaveLength(2)
})

/** A `rg` that behaves as one before version 14, which applies `.rgignore` in spite of `--no-ignore-dot`. */
function writeOldRipgrep(path: string): string {
  const lines = [
    'case "$*" in *--version*) echo "ripgrep 13.0.0"; exit;; esac',
    'for arg; do shift; [ "$arg" = --no-ignore-dot ] || set -- "$@" "$arg"; done',
    `exec '${findRipgrep([], process.env.PATH ?? '')}' "$@"`,
  ]
  writeFileSync(path, `#!/bin/sh\n${lines.join('\n')}\n`, { mode: 0o755 })
  return path
}

test('TO80 .rgignore and .ignore do not exclude files from searches', async () => {
  using fixture = createToolWorkspace({ world })
  fixture.writeFile('below/a.txt', 'word\n')
  fixture.writeFile('below/.rgignore', 'a.txt\n')
  fixture.writeFile('.ignore', 'a.txt\n')
  const ripgrep = writeOldRipgrep(join(fixture.outside, 'rg'))
  const old = createTools({ workspace: fixture.workspace, sandbox: 'none', ripgrep, world })
  for (const toolbox of [fixture.toolbox, old]) {
    expect((await callTool(toolbox, 'Grep', { pattern: 'word' })).text).toContain('a.txt')
    expect((await callTool(toolbox, 'Glob', { pattern: '**/*.txt' })).text).toContain('a.txt')
  }
})
