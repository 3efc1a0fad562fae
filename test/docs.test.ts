import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { blockProblems, isRunnable, readmeProblems, troupeCommands } from './docs/block-rules.ts'
import { createWorkspace, runBlock, typeProblems } from './docs/block-runner.ts'
import { codeBlocks, relativeLinks } from './docs/markdown.ts'
import { readSource, readSources, repositoryRoot } from './support/source-file.ts'

const atRoot = readdirSync(repositoryRoot).filter((name) => name.endsWith('.md'))
const pages = [...atRoot.map((path) => ({ path, source: readSource(path) })), ...readSources('docs', '.md')]
const withCode = pages.filter(({ path }) => /^(README|AGENTS|CONTRIBUTING)\.md$|^docs\//.test(path))
const blocks = withCode.flatMap(codeBlocks)

const workshop = createWorkspace()
afterAll(workshop.close)

function commands(): { scripts: string[]; subcommands: string[] } {
  const { scripts } = JSON.parse(readSource('package.json')) as { scripts: Record<string, string> }
  const folder = join(repositoryRoot, 'src/surfaces/cli/commands')
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => /^[^.]+-command\.ts$/.test(name)) : []
  return { scripts: Object.keys(scripts), subcommands: files.map((name) => name.replace('-command.ts', '')) }
}

test('the README shows a program that runs, early', () => {
  const readme = pages.find(({ path }) => path === 'README.md')
  expect(readme ? readmeProblems(readme) : ['README.md is missing']).toEqual([])
})

test('every code block has a language we check, parses, and names commands that exist', () => {
  const known = commands()
  expect(blocks.flatMap((block) => blockProblems(block, known))).toEqual([])
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
  expect(typed.length === 0 ? [] : await typeProblems(workshop.folder, typed)).toEqual([])
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
      .filter(({ target }) => !existsSync(join(repositoryRoot, dirname(page.path), target)))
      .map(({ target, line }) => `${page.path}:${line} leads to ${target}, which does not exist`),
  )
  expect(dead).toEqual([])
})
