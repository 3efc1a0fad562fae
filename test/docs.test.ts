import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { blockComplaints, isRunnable, readmeComplaints } from './docs/block-rules.ts'
import { codeBlocks, relativeLinks } from './docs/markdown.ts'
import { openWorkshop, runBlock, typeComplaints } from './docs/workshop.ts'
import { readSource, readSources, root } from './source-file.ts'

const atRoot = readdirSync(root).filter((name) => name.endsWith('.md'))
const pages = [...atRoot.map((path) => ({ path, source: readSource(path) })), ...readSources('docs', '.md')]
const withCode = pages.filter(({ path }) => /^(README|AGENTS|CONTRIBUTING)\.md$|^docs\//.test(path))
const blocks = withCode.flatMap(codeBlocks)

const workshop = openWorkshop()
afterAll(workshop.close)

function commands(): { scripts: string[]; subcommands: string[] } {
  const { scripts } = JSON.parse(readSource('package.json')) as { scripts: Record<string, string> }
  const folder = join(root, 'src/surfaces/cli/commands')
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => /^[^.]+\.ts$/.test(name)) : []
  return { scripts: Object.keys(scripts), subcommands: files.map((name) => name.replace('.ts', '')) }
}

test('the README shows a program that runs, early', () => {
  const readme = pages.find(({ path }) => path === 'README.md')
  expect(readme ? readmeComplaints(readme) : ['README.md is missing']).toEqual([])
})

test('every code block has a language we check, parses, and names commands that exist', () => {
  const known = commands()
  expect(blocks.flatMap((block) => blockComplaints(block, known))).toEqual([])
})

test('every TypeScript block type-checks', { timeout: 60_000 }, async () => {
  const typed = blocks.filter(({ language }) => language === 'ts')
  expect(typed.length === 0 ? [] : await typeComplaints(workshop.folder, typed)).toEqual([])
})

for (const block of blocks.filter(isRunnable)) {
  test(`the program in ${block.path}:${block.line} runs offline`, async () => {
    const { status, output } = await runBlock(workshop.folder, block)
    expect(status, output).toBe(0)
  })
}

test('every relative link leads to a file', () => {
  const dead = pages.flatMap((page) =>
    relativeLinks(page)
      .filter(({ target }) => !existsSync(join(root, dirname(page.path), target)))
      .map(({ target, line }) => `${page.path}:${line} leads to ${target}, which does not exist`),
  )
  expect(dead).toEqual([])
})
