import { isMap, parseDocument, visit } from 'yaml'
import { consultTables } from '../../src/patterns/consult/tables.ts'
import { MIGRATIONS } from '../../src/store/sqlite/migrate.ts'
import { openDatabase } from '../../src/store/sqlite/node-sqlite.ts'
import { createStatements } from '../../src/store/sqlite/pattern-table-sql.ts'
import type { CodeBlock, MarkdownFile } from './markdown.ts'
import { codeBlocks } from './markdown.ts'

/** npm scripts and subcommands that a shell block may use. */
export type KnownCommands = { scripts: readonly string[]; subcommands: readonly string[] }

const languages = ['ts', 'json', 'yaml', 'sql', 'sh', 'console', 'text', 'mermaid', 'diff']
const npmCommands = ['ci', 'install', 'i', 'init', 'pkg', 'test', 'exec', 'pack', 'help']

export function blockProblems(block: CodeBlock, commands: KnownCommands): string[] {
  const location = `${block.path}:${block.line}`
  if (!languages.includes(block.language)) {
    return [`${location} "${block.language}" is not a checked language; known: ${languages.join(', ')}`]
  }
  if (block.language === 'json')
    return parseProblems(() => JSON.parse(block.body)).map((problem) => `${location} ${problem}`)
  if (block.language === 'sql')
    return parseProblems(() => runOnEmptyStore(block.body)).map((problem) => `${location} ${problem}`)
  if (block.language === 'yaml') {
    return yamlProblems(block.body).map((problem) => `${location} ${problem}`)
  }
  if (block.language === 'ts') return needsNewerNode(block.body).map((problem) => `${location} ${problem}`)
  if (block.language === 'sh' || block.language === 'console') {
    return shellCommands(block).flatMap((words) =>
      commandProblems(words, commands).map((problem) => `${location} ${problem}`),
    )
  }
  return []
}

/** A comma inside `{ }` ends a text without quotes; the rest of it becomes a key without a value. */
function yamlProblems(body: string): string[] {
  const document = parseDocument(body)
  const problems = document.errors.map(({ message }) => message.split('\n')[0] ?? '')
  visit(document, {
    Pair(_key, { key, value }, path) {
      const map = path.at(-1)
      if (isMap(map) && map.flow && value === null) problems.push(`'${key}' has no value: quote a text with a comma`)
    },
  })
  return problems
}

/** Node 22, the oldest supported one, strips types but knows no `using`: the first program of a reader would not start. */
export function needsNewerNode(program: string): string[] {
  return /^\s*(await\s+)?using\s+\w+\s*=/m.test(program)
    ? ['`using` does not run on Node 22: use const, and close() at the end']
    : []
}

/** Runs SQL on a store without rows, which finds misspelt tables and columns. */
function runOnEmptyStore(sql: string): void {
  const db = openDatabase(':memory:')
  try {
    for (const migration of MIGRATIONS) db.exec(migration)
    for (const statement of createStatements(consultTables)) db.exec(statement)
    db.exec(sql)
  } finally {
    db.close()
  }
}

function parseProblems(parse: () => unknown): string[] {
  try {
    parse()
    return []
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

/** In `sh` every line is a command; in `console` only lines after `$`, the rest is output. */
export function shellCommands({ language, body }: CodeBlock): string[][] {
  return body
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => language === 'sh' || line.startsWith('$ '))
    .map((line) => line.replace(/^\$ /, '').replace(/(^|\s)#.*$/, ''))
    .flatMap((line) => line.split(/&&|\|\|?|;/))
    .map((command) =>
      command
        .trim()
        .split(/\s+/)
        .filter((word, index) => word !== '' && !(index === 0 && /^\w+=/.test(word))),
    )
    .filter((words) => words.length > 0)
}

function commandProblems(words: readonly string[], { scripts, subcommands }: KnownCommands): string[] {
  const [program, ...rest] = words.slice(words[0] === 'npx' ? (words[1] === '--no' ? 2 : 1) : 0)
  if (program === 'troupe') {
    if (words[1] !== '--no') return [`"${words.join(' ')}": write npx --no troupe, which never installs a package`]
    return subcommandProblems(rest, subcommands)
  }
  if (program !== 'npm') return []
  const [verb, ...after] = rest.filter((word) => word !== '-s' && word !== '--silent')
  if (verb === undefined || npmCommands.includes(verb)) return []
  if (verb !== 'run') return [`"npm ${verb}" is not a documented command; use "npm run"`]
  const [script = '', ...forwarded] = after
  if (!scripts.includes(script)) return [`unknown npm script "${script}"; known: ${scripts.join(', ')}`]
  return script === 'troupe' ? subcommandProblems(forwarded.slice(forwarded.indexOf('--') + 1), subcommands) : []
}

function subcommandProblems([name]: readonly string[], subcommands: readonly string[]): string[] {
  if (name === undefined || name.startsWith('-') || name === 'help' || subcommands.includes(name)) return []
  return [`unknown command "troupe ${name}"; known: ${subcommands.join(', ')}`]
}

/** The README must show a short runnable program within its first 80 words. */
export function readmeProblems(readme: MarkdownFile): string[] {
  const [first] = codeBlocks(readme)
  if (!first) return ['README.md has no code block']
  const before = readme.source
    .split('\n')
    .slice(0, first.line - 1)
    .join('\n')
    .replace(/<!--[\s\S]*?-->/g, '')
  const words = before.split(/\s+/).filter((word) => /\w/.test(word)).length
  const lines = first.body.split('\n').length - 1
  return [
    ...(words < 80 ? [] : [`README.md has ${words} words before its first code block; the limit is 79`]),
    ...(lines <= 15 ? [] : [`the first code block of README.md has ${lines} lines; the limit is 15`]),
    ...(isRunnable(first) ? [] : ['the first code block of README.md is not marked "ts run"']),
  ]
}

export function isRunnable({ language, flags }: CodeBlock): boolean {
  return language === 'ts' && flags.includes('run')
}

/** The arguments of `troupe` in every documented command line. */
export function troupeCommands(blocks: readonly CodeBlock[]): string[][] {
  return blocks
    .filter(({ language }) => language === 'sh' || language === 'console')
    .flatMap(shellCommands)
    .flatMap((words) => {
      const index = words.indexOf('troupe')
      if (index === -1) return []
      const rest = words.slice(index + 1)
      return [rest[0] === '--' ? rest.slice(1) : rest]
    })
}
