import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NO_METADATA } from '../src/kernel/run-metadata.ts'
import type { ToolCall } from '../src/kernel/tool.ts'
import { parseValue } from '../src/schema/schema.ts'
import { findRipgrep } from '../src/tools/search/ripgrep.ts'
import { createTools } from '../src/tools/tools.ts'
import type { Bench, Line } from './bench.ts'
import { assertEqual } from './bench.ts'
import { findFigure, measureMs, ratiosTo, runRounds } from './rounds.ts'

/** Creates a project tree with twenty files per folder; one file in a hundred matches, and one is a test. */
function createTree(root: string, files: number): { matching: number; tests: number } {
  let matching = 0
  let tests = 0
  const filler = 'export function work(input: string): number {\n  return input.length * 2\n}\n'.repeat(8)
  for (let index = 0; index < files; index++) {
    const folderIndex = Math.floor(index / 20)
    const folder = join(root, `part${folderIndex % 50}`, `module${Math.floor(folderIndex / 50)}`)
    mkdirSync(folder, { recursive: true })
    const isTest = index % 100 === 0
    const matches = index % 100 === 7
    if (isTest) tests++
    if (matches) matching++
    writeFileSync(
      join(folder, `file${index}${isTest ? '.test' : ''}.ts`),
      matches ? `${filler}// needle ${index}\n` : filler,
    )
  }
  writeFileSync(join(root, '.gitignore'), 'node_modules/\n*.log\n')
  return { matching, tests }
}

const CALL: ToolCall = {
  run_id: 'bench',
  session_id: 'bench',
  agent: 'bench',
  run: NO_METADATA,
  tool_call_id: 'bench',
  idempotency_key: 'bench',
  signal: new AbortController().signal,
}

/** Executes a search and returns the number of result lines. */
type CountLines = () => Promise<number>

function toolContender(name: string, input: unknown, { tools }: ReturnType<typeof createTools>): CountLines {
  const tool = tools.find((candidate) => candidate.name === name)
  if (!tool) throw new Error(`no tool ${name}`)
  return async () => {
    const { output } = await tool.execute(parseValue(tool.input, input) as never, CALL)
    return String(output)
      .split('\n')
      .filter((line) => !line.startsWith('[')).length
  }
}

function programContender(cwd: string, args: readonly string[]): CountLines {
  return async () => {
    const rg = findRipgrep([], process.env.PATH ?? '') ?? 'rg'
    const { stdout } = spawnSync(rg, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 28 })
    return stdout.split('\n').length - 1
  }
}

export const search: Bench = {
  name: 'search',
  title: 'Grep and Glob on a tree of 50,000 files, compared with ripgrep itself',
  async run({ quick, folder }) {
    const root = join(folder, 'search')
    const files = quick ? 2000 : 50_000
    const { matching, tests } = createTree(root, files)
    const tools = createTools({ workspace: root })
    const grep = { pattern: 'needle \\d+', head_limit: 20_000 }
    const glob = { pattern: '**/*.test.ts', head_limit: 20_000 }
    const contenders: (readonly [name: string, countLines: CountLines, expected: number])[] = [
      ['Grep', toolContender('Grep', grep, tools), matching],
      ['rg --files-with-matches', programContender(root, ['-l', 'needle \\d+', './']), matching],
      ['Glob', toolContender('Glob', glob, tools), tests],
      ['rg --files --glob', programContender(root, ['--files', '-g', '**/*.test.ts']), tests],
    ]
    const rounds = contenders.map(([name, countLines, expected]) => ({
      name,
      round: () => measureMs(async () => assertEqual(await countLines(), expected, name)),
    }))
    const figures = await runRounds(rounds, { rounds: quick ? 3 : 7 })
    return contenders.map(([name]): Line => {
      const baseline = name.startsWith('Grep') ? 'rg --files-with-matches' : 'rg --files --glob'
      const ratios = name.startsWith('rg') ? {} : ratiosTo(figures, name, [baseline])
      return { label: name, figure: findFigure(figures, name), unit: 'ms', ratios }
    })
  },
}
