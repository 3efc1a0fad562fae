import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { actingTool } from './acting-tool.ts'
import type { Bench, BenchOptions, Line } from './bench.ts'
import { chatTurns } from './chat.ts'
import { collaboration } from './collaborate.ts'
import { fiveThousandSessions, thousandSessions } from './concurrent-sessions.ts'
import { crowd } from './crowd.ts'
import { disk } from './disk.ts'
import { fanOutNoLatency, fanOutWithLatency } from './fan-out.ts'
import { floor } from './floor.ts'
import { handoff } from './handoff.ts'
import { importTime } from './import.ts'
import { formatPeers } from './peers.ts'
import { describeMachine, formatLine } from './print.ts'
import { promptCache } from './prompt-cache.ts'
import { providerOverhead } from './provider-overhead.ts'
import { queries } from './queries.ts'
import { resume } from './resume.ts'
import { search } from './search.ts'
import { start } from './start.ts'
import { oneCall, threeCalls } from './tool-turn.ts'
import { turn } from './turn.ts'
import { wholeRun } from './whole-run.ts'

/* npm run bench -- [NAME …] [--quick] [--json FILE] [--folder DIR] */

const BENCHES: readonly Bench[] = [
  floor,
  turn,
  oneCall,
  threeCalls,
  actingTool,
  wholeRun,
  chatTurns,
  crowd,
  fanOutNoLatency,
  fanOutWithLatency,
  collaboration,
  thousandSessions,
  fiveThousandSessions,
  resume,
  disk,
  importTime,
  start,
  queries,
  providerOverhead,
  promptCache,
  search,
  handoff,
]

function selectBenches(names: readonly string[]): readonly Bench[] {
  const known = BENCHES.map(({ name }) => name)
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`unknown benchmark '${unknown.join("', '")}'; known: ${known.join(', ')}`)
  return names.length === 0 ? BENCHES : BENCHES.filter(({ name }) => names.includes(name))
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

async function runAll(benches: readonly Bench[], options: BenchOptions): Promise<Record<string, Line[]>> {
  const results: Record<string, Line[]> = {}
  for (const bench of benches) {
    const start = performance.now()
    const lines = await bench.run(options)
    results[bench.name] = lines
    print(`\n${bench.title}  [${bench.name}, ${Math.round((performance.now() - start) / 1000)} s]`)
    for (const line of lines) print(formatLine(line))
  }
  return results
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean' }, json: { type: 'string' }, folder: { type: 'string' } },
})
const benches = selectBenches(positionals)
const folder = mkdtempSync(join(values.folder ?? tmpdir(), 'troupe-bench-'))
try {
  const machine = describeMachine(folder)
  print(`${machine}\nmedian (min–max) of interleaved rounds; ratios are of medians; a missed target is no failure`)
  const results = await runAll(benches, { quick: values.quick ?? false, folder })
  const missed = Object.values(results).flatMap((lines) => lines.filter(({ target }) => target && !target.met))
  print(`\n${missed.length} targets missed in this run`)
  if (positionals.length === 0) print(`\n${formatPeers().join('\n')}`)
  if (values.json) writeFileSync(values.json, `${JSON.stringify({ machine, benches: results }, null, 2)}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
