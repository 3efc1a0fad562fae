import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ToolCall } from '../src/kernel/tool.ts'
import { findProgram } from '../src/tools/search/ripgrep.ts'
import { createTools } from '../src/tools/tools.ts'
import type { Bench, Line } from './bench.ts'
import { assertEqual } from './bench.ts'
import { findFigure, measureMs, ratiosTo, runRounds } from './rounds.ts'

/** A tree like a large project's: folders of twenty files, some text in each, a word in every hundredth, and as many tests. */
function createTree(root: string, files: number): { matching: number; tests: number } {
  let matching = 0
  let tests = 0
  const filler = 'export function work(input: string): number {\n  return input.length * 2\n}\n'.repeat(8)
  for (let at = 0; at < files; at++) {
    const place = Math.floor(at / 20)
    const folder = join(root, `part${place % 50}`, `module${Math.floor(place / 50)}`)
    mkdirSync(folder, { recursive: true })
    const isTest = at % 100 === 0
    const has = at % 100 === 7
    if (isTest) tests++
    if (has) matching++
    writeFileSync(join(folder, `file${at}${isTest ? '.test' : ''}.ts`), has ? `${filler}// needle ${at}\n` : filler)
  }
  writeFileSync(join(root, '.gitignore'), 'node_modules/\n*.log\n')
  return { matching, tests }
}

const CALL: ToolCall = {
  run_id: 'bench',
  session_id: 'bench',
  agent: 'bench',
  tool_call_id: 'bench',
  idempotency_key: 'bench',
  signal: new AbortController().signal,
}

/** Lines of a tool's answer, or of a program's. */
type CountLines = () => Promise<number>

function toolContender(name: string, input: unknown, box: ReturnType<typeof createTools>): CountLines {
  const found = box.tools.find((candidate) => candidate.name === name)
  if (!found) throw new Error(`no tool ${name}`)
  return async () => {
    const { output } = await found.execute(found.input.parse(input) as never, CALL)
    return String(output)
      .split('\n')
      .filter((line) => !line.startsWith('[')).length
  }
}

function programContender(cwd: string, args: readonly string[]): CountLines {
  return async () => {
    const { stdout } = spawnSync('rg', args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 28 })
    return stdout.split('\n').length - 1
  }
}

export const search: Bench = {
  name: 'search',
  title: 'Grep and Glob on a tree of 50,000 files, with and without ripgrep, beside ripgrep itself',
  async run({ quick, folder }) {
    const root = join(folder, 'search')
    const files = quick ? 2000 : 50_000
    const { matching, tests } = createTree(root, files)
    const confined = createTools({ workspace: root })
    const without = createTools({ workspace: root, ripgrep: false })
    const grep = { pattern: 'needle \\d+', head_limit: 20_000 }
    const glob = { pattern: '**/*.test.ts', head_limit: 20_000 }
    const withRipgrep = findProgram('rg') !== undefined
    const contenders: (readonly [name: string, asks: CountLines, expected: number])[] = [
      ...(withRipgrep
        ? ([
            ['Grep with ripgrep', toolContender('Grep', grep, confined), matching],
            ['rg --files-with-matches', programContender(root, ['-l', 'needle \\d+', './']), matching],
            ['Glob with ripgrep', toolContender('Glob', glob, confined), tests],
            ['rg --files --glob', programContender(root, ['--files', '-g', '**/*.test.ts']), tests],
          ] as const)
        : []),
      ['Grep without ripgrep', toolContender('Grep', grep, without), matching],
      ['Glob without ripgrep', toolContender('Glob', glob, without), tests],
    ]
    const rounds = contenders.map(([name, asks, expected]) => ({
      name,
      round: () => measureMs(async () => assertEqual(await asks(), expected, name)),
    }))
    const figures = await runRounds(rounds, { rounds: quick ? 3 : 7 })
    return contenders.map(([name]): Line => {
      const beside = name.startsWith('Grep') ? 'rg --files-with-matches' : 'rg --files --glob'
      const times = name.startsWith('rg') ? {} : ratiosTo(figures, name, [beside])
      return { what: name, figure: findFigure(figures, name), unit: 'ms', times }
    })
  },
}
