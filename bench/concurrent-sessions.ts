import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Bench, BenchOptions, Figure, Line, Target } from './bench.ts'
import { atMost } from './bench.ts'
import type { ContenderName, SessionsReport } from './concurrent-sessions-process.ts'
import { BARE, GENERATE } from './conversation-rounds.ts'
import { findFigure, mapFigure, ratiosTo, runRounds, toFigure } from './rounds.ts'

const IDEAL_MS = 500
const MAX_HEAP_KB = 40
const PROCESS = fileURLToPath(new URL('concurrent-sessions-process.ts', import.meta.url))

/** Contenders with the maximum ratio to the ideal time. */
const CONTENDERS: readonly { name: ContenderName; label: string; limit?: number }[] = [
  { name: 'bare', label: BARE },
  { name: 'generate', label: GENERATE },
  { name: 'memory', label: 'in memory, one run', limit: 1.15 },
  { name: 'memory-runs', label: 'in memory, one run per session', limit: 1.15 },
  { name: 'sqlite', label: 'on SQLite, one run', limit: 1.3 },
  { name: 'sqlite-runs', label: 'on SQLite, one run per session', limit: 1.3 },
]

async function measureInProcess(name: ContenderName, sessions: number, folder: string): Promise<SessionsReport> {
  const args = ['--expose-gc', '--disable-warning=ExperimentalWarning', PROCESS, name, String(sessions), folder]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1e7 })
  return JSON.parse(stdout) as SessionsReport
}

async function measureSessions(sessions: number, { quick, folder }: BenchOptions): Promise<Line[]> {
  const reports = new Map<string, SessionsReport[]>()
  const contenders = CONTENDERS.map(({ name, label }) => ({
    name: label,
    async round() {
      const report = await measureInProcess(name, sessions, folder)
      reports.set(label, [...(reports.get(label) ?? []), report])
      return report.wall_ms
    },
  }))
  const walls = await runRounds(contenders, { rounds: quick ? 1 : sessions > 1000 ? 3 : 5, warmups: 0 })
  return [...wallLines(walls, sessions), ...memoryLines(reports), ...stallLines(reports, sessions)]
}

function wallLines(walls: ReadonlyMap<string, Figure>, sessions: number): Line[] {
  return CONTENDERS.flatMap(({ label, limit }) => {
    const wall = findFigure(walls, label)
    const ideal = mapFigure(wall, (ms) => ms / IDEAL_MS)
    const target: Target | undefined =
      limit === undefined || sessions > 1000 ? undefined : atMost(ideal.median, limit, '×')
    return [
      { label, figure: wall, unit: 'ms', ratios: ratiosTo(walls, label, [BARE, GENERATE]) },
      { label: `  relative to the ideal ${IDEAL_MS} ms`, figure: ideal, unit: '×', ...(target && { target }) },
    ]
  })
}

function memoryLines(reports: ReadonlyMap<string, SessionsReport[]>): Line[] {
  return CONTENDERS.flatMap(({ label, limit }) => {
    const found = reports.get(label) ?? []
    const heap = toFigure(found.map((report) => report.heap_kb))
    const rss = toFigure(found.map((report) => report.rss_mb))
    const target = limit === undefined ? undefined : atMost(heap.median, MAX_HEAP_KB, 'KB')
    return [
      { label: `${label}: live heap per session`, figure: heap, unit: 'KB', ...(target && { target }) },
      { label: `${label}: peak memory of the process`, figure: rss, unit: 'MB' },
    ]
  })
}

function stallLines(reports: ReadonlyMap<string, SessionsReport[]>, sessions: number): Line[] {
  return CONTENDERS.map(({ name, label }): Line => {
    const found = reports.get(label) ?? []
    const figure = toFigure(found.map((report) => report.stall_p999_ms))
    const samples = found.reduce((sum, report) => sum + report.stall_samples, 0)
    const hasTarget = name.startsWith('sqlite') && sessions === 1000
    const target = hasTarget ? atMost(figure.median, 10, 'ms') : undefined
    return { label: `${label}: stall p99.9`, figure, unit: 'ms', note: `${samples} samples`, ...(target && { target }) }
  })
}

export const thousandSessions: Bench = {
  name: 'sessions-1000',
  title: '1,000 concurrent sessions × 5 turns at 100 ms, each contender in its own process',
  run: (options) => measureSessions(1000, options),
}

export const fiveThousandSessions: Bench = {
  name: 'sessions-5000',
  title: '5,000 concurrent sessions × 5 turns at 100 ms, each contender in its own process',
  run: (options) => measureSessions(5000, options),
}
