import { afterAll, describe, expect, test } from 'vitest'
import { blockProblems, readmeProblems } from './block-rules.ts'
import { createWorkspace, runBlock, typeProblems } from './block-runner.ts'
import type { CodeBlock } from './markdown.ts'
import { codeBlocks, relativeLinks } from './markdown.ts'

const fence = '```'
const page = (source: string) => ({ path: 'README.md', source })
const block = (language: string, body: string): CodeBlock => ({ path: 'a.md', line: 3, language, flags: [], body })

describe('markdown', () => {
  test('blocks have language, flags, line and body, even when indented or containing fences', () => {
    const found = codeBlocks(page(`x\n  ${fence}ts run\n  a\n  ${fence}\n~~~~text\n${fence}\n~~~\n~~~~\n`))
    expect(found).toEqual([
      { path: 'README.md', line: 2, language: 'ts', flags: ['run'], body: 'a\n' },
      { path: 'README.md', line: 5, language: 'text', flags: [], body: `${fence}\n~~~\n` },
    ])
  })

  test('an unterminated block is an error', () => {
    expect(() => codeBlocks(page(`${fence}ts\na\n`))).toThrow('README.md:1')
  })

  test('only relative links are returned', () => {
    const text = `[a](docs/a.md#part) [b](https://b) [c](#c) ![d](d%20e.png "t")\n\`[no](no.md)\`\n[r]: ../r.md\n`
    expect(relativeLinks(page(text)).map(({ target }) => target)).toEqual(['docs/a.md', 'd e.png', '../r.md'])
    expect(relativeLinks(page(`${fence}text\n[no](no.md)\n${fence}\n`))).toEqual([])
  })
})

describe('blocks', () => {
  test('P33 a program that the oldest supported Node cannot read is reported', () => {
    expect(blockProblems(block('ts', 'await using a = await b()\n'), known)).toEqual([expect.stringMatching(/Node 22/)])
    expect(blockProblems(block('ts', 'const a = await b()\nawait a.close()\n'), known)).toEqual([])
  })

  const known = { scripts: ['demo', 'troupe'], subcommands: ['run', 'show'] }

  test.each([
    ['json', '{"a": 1}'],
    ['yaml', 'a: [1, 2]'],
    ['yaml', "a: { role: 'Reads, or writes' }"],
    ['sh', 'npm ci && npm run -s demo # install, then look'],
    ['sh', 'npm run -s troupe -- run task --input a.json'],
    ['console', '$ npx --no troupe show R1\ntroupe frobnicate is only output'],
    ['sh', 'TROUPE_STORE=x npx --no troupe --help'],
    ['text', 'anything'],
  ])('%s: %s is accepted', (language, body) => {
    expect(blockProblems(block(language, `${body}\n`), known)).toEqual([])
  })

  test.each([
    ['json', '{a: 1}', 'a.md:3'],
    ['yaml', 'a: [1', 'a.md:3'],
    ['yaml', 'a: { role: Reads, or writes }', "'or writes' has no value"],
    ['python', 'x', 'not a checked language'],
    ['', 'x', 'not a checked language'],
    ['sh', 'npm run dmeo', 'unknown npm script "dmeo"'],
    ['sh', 'npm run -s troupe -- shwo', 'unknown command "troupe shwo"'],
    ['console', '$ npm ci && npx --no troupe rnu', 'unknown command "troupe rnu"'],
    ['sh', 'npx troupe show', 'write npx --no troupe'],
    ['sh', 'troupe show', 'write npx --no troupe'],
    ['sh', 'npm start', 'use "npm run"'],
  ])('%s: %s is rejected', (language, body, message) => {
    expect(blockProblems(block(language, `${body}\n`), known).join()).toContain(message)
  })
})

describe('the README', () => {
  const readme = (words: number, lines: number, info = 'ts run') =>
    readmeProblems(page(`${'word '.repeat(words)}\n${fence}${info}\n${'a\n'.repeat(lines)}${fence}\n`))

  test('79 words and 15 lines are accepted; more of either or a block without `run` is rejected', () => {
    expect(readme(79, 15)).toEqual([])
    expect(readme(80, 15)).toHaveLength(1)
    expect(readme(79, 16)).toHaveLength(1)
    expect(readme(79, 15, 'ts')).toHaveLength(1)
    expect(readmeProblems(page('no block'))).toHaveLength(1)
  })
})

describe('programs', () => {
  const workspace = createWorkspace()
  afterAll(workspace.close)
  const run = (body: string) => runBlock(workspace.folder, block('ts', body))

  test('a program exits with 0 unless it throws or opens a connection', async () => {
    expect(await run('const x: number = 1\nconsole.log(x)\n')).toEqual({ status: 0, output: '1\n' })
    const thrown = await run(`throw new Error('no')\n`)
    expect(thrown.status).toBe(1)
    expect(thrown.output).toContain('a.md.3.ts:4')
    const online = await run(`import { connect } from 'node:net'\nconnect(9, '192.0.2.1')\n`)
    expect(online.output).toContain('must run offline')
    expect(online.status).toBe(1)
  })

  test('a type error is reported at the line of the page', async () => {
    const wrong = { ...block('ts', `const ok = 1\nexport const x: string = ok\n`), path: 'docs/b.md', line: 10 }
    const right = block('ts', `import { z } from 'zod'\nexport const n: number = z.number().parse(1)\n`)
    const found = await typeProblems(workspace.folder, [wrong, right])
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(/docs__b\.md:12: error TS2322/)
  })
})
