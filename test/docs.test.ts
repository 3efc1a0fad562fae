import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { ERROR_CODES } from '../src/errors.ts'
import { blockProblems, isRunnable, readmeProblems, troupeCommands } from './docs/block-rules.ts'
import { createWorkspace, runBlock, typeProblems } from './docs/block-runner.ts'
import { codeBlocks, relativeLinks } from './docs/markdown.ts'
import { readSource, readSources, repositoryRoot } from './support/source-file.ts'

const rootPages = readdirSync(repositoryRoot).filter((name) => name.endsWith('.md'))
const pages = [...rootPages.map((path) => ({ path, source: readSource(path) })), ...readSources('docs', '.md')]
// The API reference is generated: its declarations are parts of source files and do not type-check alone.
const pagesWithCode = pages.filter(({ path }) => /^(README|AGENTS|CONTRIBUTING)\.md$|^docs\/(?!reference\/)/.test(path))
const blocks = pagesWithCode.flatMap(codeBlocks)

const workspace = createWorkspace()
afterAll(workspace.close)

function readCommands(): { scripts: string[]; subcommands: string[] } {
  const { scripts } = JSON.parse(readSource('package.json')) as { scripts: Record<string, string> }
  const folder = join(repositoryRoot, 'src/surfaces/cli/commands')
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => /^[^.]+-command\.ts$/.test(name)) : []
  return { scripts: Object.keys(scripts), subcommands: files.map((name) => name.replace('-command.ts', '')) }
}

test('the README starts with a runnable program', () => {
  const readme = pages.find(({ path }) => path === 'README.md')
  expect(readme ? readmeProblems(readme) : ['README.md is missing']).toEqual([])
})

test('every code block has a checked language, parses, and uses existing commands', () => {
  const known = readCommands()
  expect(blocks.flatMap((block) => blockProblems(block, known))).toEqual([])
})

/** Commands with commands of their own. */
const COMMAND_GROUPS: ReadonlySet<string> = new Set(['run', 'knowledge', 'team'])

test('every documented command and option exists in the command line', async () => {
  const run = promisify(execFile)
  const optionsByCommand = new Map<string, Set<string>>()
  for (const words of troupeCommands(blocks)) {
    const command = words.filter((word) => !word.startsWith('-')).slice(0, COMMAND_GROUPS.has(words[0] ?? '') ? 2 : 1)
    const options = optionsByCommand.get(command.join(' ')) ?? new Set<string>()
    for (const word of words) if (word.startsWith('--')) options.add(word.split('=')[0] ?? '')
    optionsByCommand.set(command.join(' '), options)
  }
  const problems: string[] = []
  for (const [command, options] of optionsByCommand) {
    const call = [
      process.execPath,
      ['src/surfaces/cli/main.ts', ...command.split(' ').filter(Boolean), '--help'],
    ] as const
    const { stdout } = await run(...call).catch(() => ({ stdout: '' }))
    for (const option of options)
      if (!stdout.includes(option)) problems.push(`troupe ${command} has no option ${option}`)
    if (stdout === '') problems.push(`unknown command: troupe ${command}`)
  }
  expect(problems).toEqual([])
})

test('every TypeScript block type-checks', async () => {
  const typed = blocks.filter(({ language }) => language === 'ts')
  expect(typed.length === 0 ? [] : await typeProblems(workspace.folder, typed)).toEqual([])
})

for (const block of blocks.filter(isRunnable)) {
  test(`the program in ${block.path}:${block.line} runs offline`, async () => {
    const { status, output } = await runBlock(workspace.folder, block)
    expect(status, output).toBe(0)
  })
}

test('every relative link points to an existing file', () => {
  const broken = pages.flatMap((page) =>
    relativeLinks(page)
      .filter(({ target }) => !existsSync(join(repositoryRoot, dirname(page.path), target)))
      .map(({ target, line }) => `${page.path}:${line} links to ${target}, which does not exist`),
  )
  expect(broken).toEqual([])
})

test('the troubleshooting page explains every error code', () => {
  const page = readSource('docs/guide/troubleshooting.md')
  const rows = page.split('\n').filter((line) => /^\| `/.test(line))
  const explained = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, code]) => code))
  expect(explained.toSorted()).toEqual(Object.keys(ERROR_CODES).toSorted())
})
