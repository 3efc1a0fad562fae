import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { blockComplaints, isRunnable, readmeComplaints, troupeCommands } from './docs/block-rules.ts'
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

test('every documented command is known to the command line, with all its options', { timeout: 60_000 }, async () => {
  const ask = promisify(execFile)
  const complaints: string[] = []
  for (const words of troupeCommands(blocks)) {
    const named = words.filter((word) => !word.startsWith('-')).slice(0, words[0] === 'run' ? 2 : 1)
    const help = await ask(process.execPath, ['src/surfaces/cli/main.ts', ...named, '--help']).catch(() => ({
      stdout: '',
    }))
    const options = words.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0] ?? '')
    for (const option of options)
      if (!help.stdout.includes(option)) complaints.push(`troupe ${named.join(' ')} has no ${option}`)
    if (help.stdout === '') complaints.push(`there is no command: troupe ${named.join(' ')}`)
  }
  expect(complaints).toEqual([])
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
