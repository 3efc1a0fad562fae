import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { verifyJournal } from '../../src/audit/verify-journal.ts'
import { createTroupe } from '../../src/index.ts'
import { loadProviderModel } from '../../src/models/providers.ts'
import type { RealCase } from './cases.ts'
import { REAL_CASES } from './cases.ts'
import {
  consensusProblems,
  copiedExampleProblems,
  formatOutcome,
  markProblems,
  minimumCalls,
  rawJsonProblems,
} from './checks.ts'
import { openModelServer } from './model-server.ts'
import type { WireLog } from './wire-log.ts'
import { startWireLog } from './wire-log.ts'

/*
 * npm run test:real -- [NAME …] [--list] [--json FILE]
 * Runs Troupe with a real, weak model. NAME is a case or a part of its name, such as `vote` or `open/parallel`.
 */

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
/** Requests beyond the minimum: the judge, the router, or the one that reads answers in prose. */
const MAX_EXTRA_CALLS = 1
const MODEL = 'compatible/real-model'

interface CaseReport {
  case: string
  calls: number
  minimum: number
  input_tokens: number
  output_tokens: number
  seconds: number
  outcome: string
  problems: string[]
}

interface CaseOutcome {
  minimum: number
  outcome: string
  /** The text that the user gets. */
  text: string
  problems: string[]
}

async function runCase(real: RealCase, wire: WireLog): Promise<CaseReport> {
  const started = performance.now()
  wire.calls.length = 0
  const outcome = await (real.pattern === 'chat' ? runChat(real, wire) : runPattern(real, wire)).catch(
    (error: unknown): CaseOutcome => ({ minimum: 0, outcome: 'error', text: '', problems: [String(error)] }),
  )
  const calls = wire.calls.length
  const extra = calls - outcome.minimum
  const sum = (field: 'input' | 'output') => wire.calls.reduce((total, call) => total + call[field], 0)
  return {
    case: real.name,
    calls,
    minimum: outcome.minimum,
    input_tokens: sum('input'),
    output_tokens: sum('output'),
    seconds: Math.round((performance.now() - started) / 1000),
    outcome: outcome.outcome,
    problems: [
      ...outcome.problems,
      ...markProblems(wire.calls),
      ...copiedExampleProblems(wire.calls, outcome.text),
      ...rawJsonProblems(outcome.text),
      ...(extra < 0 ? [`${calls} calls, fewer than the ${outcome.minimum} that the result needs`] : []),
      ...(extra > MAX_EXTRA_CALLS ? [`${calls} calls where ${outcome.minimum} are the minimum`] : []),
    ],
  }
}

async function runPattern(real: RealCase, wire: WireLog): Promise<CaseOutcome> {
  const env = { TROUPE_COMPATIBLE_BASE_URL: wire.url, TROUPE_COMPATIBLE_API_KEY: 'none' }
  const troupe = await createTroupe({ store: 'memory', model: await loadProviderModel(MODEL, { env }) })
  try {
    const result = await (await troupe.stream(real.pattern, real.input)).result
    const events = await troupe.events(result.run_id).all()
    const findings = verifyJournal(events).map((finding) => `journal: ${JSON.stringify(finding)}`)
    const problems = [...findings, ...(real.pattern === 'collaborate' ? consensusProblems(result, events) : [])]
    const { result: decided, response } = (result.output ?? {}) as { result?: string; response?: string }
    const text = decided ?? response ?? ''
    return { minimum: minimumCalls(real, result, events), outcome: formatOutcome(result), text, problems }
  } finally {
    await troupe.close()
  }
}

/** A chat of one agent on the command line; each line is one turn. */
async function runChat({ input }: RealCase, wire: WireLog): Promise<CaseOutcome> {
  const { lines } = input as { lines: string[] }
  const folder = mkdtempSync(join(tmpdir(), 'real-chat-'))
  const argv = [
    MAIN,
    'chat',
    '--agent',
    'architect',
    '--model',
    MODEL,
    '--no-tools',
    '--store',
    join(folder, 'chat.db'),
  ]
  const env = { ...process.env, TROUPE_COMPATIBLE_BASE_URL: wire.url, TROUPE_COMPATIBLE_API_KEY: 'none' }
  const child = spawn(process.execPath, argv, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  child.stdout.on('data', (data: Buffer) => {
    out += data.toString()
  })
  child.stderr.on('data', (data: Buffer) => {
    err += data.toString()
  })
  child.stdin.end(`${lines.join('\n')}\n`)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  const text = (code === 0 ? out : err).replaceAll(/\s+/g, ' ').slice(0, 140)
  return {
    minimum: lines.length,
    outcome: `exit ${code}; ${text}`,
    text: out.replace(/^\w+: /, ''),
    problems: code === 0 ? [] : [`exit ${code}: ${err}`],
  }
}

function selectCases(names: readonly string[]): readonly RealCase[] {
  const selected = REAL_CASES.filter(({ name }) => names.length === 0 || names.some((part) => name.includes(part)))
  if (selected.length > 0) return selected
  throw new Error(`no case has '${names.join("' or '")}' in its name; list them with --list`)
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

async function main(): Promise<number> {
  const options = { list: { type: 'boolean' }, json: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const cases = selectCases(positionals)
  if (values.list) {
    for (const { name } of cases) print(name)
    return 0
  }
  const folder = mkdtempSync(join(tmpdir(), 'test-real-'))
  const file = values.json ?? join(folder, 'results.json')
  const server = await openModelServer(process.env)
  const wire = await startWireLog(server.baseUrl)
  const reports: CaseReport[] = []
  const traffic: object[] = []
  try {
    for (const real of cases) {
      const report = await runCase(real, wire)
      reports.push(report)
      traffic.push(...wire.calls.map((call) => ({ case: real.name, ...call })))
      print(
        `${report.problems.length > 0 ? '✗' : '✓'} ${report.case}  ${report.calls}/${report.minimum} calls, ${report.seconds} s  ${report.outcome}`,
      )
      for (const problem of report.problems) print(`    ${problem}`)
      writeFileSync(file, JSON.stringify(reports, null, 1))
      writeFileSync(`${file}.wire.jsonl`, traffic.map((call) => `${JSON.stringify(call)}\n`).join(''))
    }
  } finally {
    await wire.close()
    await server.stop()
  }
  console.table(
    reports.map(({ problems, outcome, ...row }) => ({
      ...row,
      outcome: outcome.slice(0, 60),
      ok: problems.length === 0,
    })),
  )
  print(`results: ${file}; requests and replies: ${file}.wire.jsonl`)
  return reports.some(({ problems }) => problems.length > 0) ? 1 : 0
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 2
}
