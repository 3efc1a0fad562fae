import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Aim, Bench, BenchOptions, Figure, Line } from './bench.ts'
import { atMost } from './bench.ts'
import type { ContenderName, SessionsReport } from './concurrent-sessions-process.ts'
import { BARE, GENERATE } from './conversation-rounds.ts'
import { findFigure, mapFigure, ratiosTo, runRounds, toFigure } from './rounds.ts'

const IDEAL_MS = 500
const MAX_HEAP_KB = 40
const PROCESS = fileURLToPath(new URL('concurrent-sessions-process.ts', import.meta.url))

/** Who is measured, under which name, and how far over the ideal the issue lets it be. */
const CONTENDERS: readonly { name: ContenderName; what: string; most?: number }[] = [
  { name: 'bare', what: BARE },
  { name: 'generate', what: GENERATE },
  { name: 'memory', what: 'in memory, one run', most: 1.15 },
  { name: 'memory-runs', what: 'in memory, a run each', most: 1.15 },
  { name: 'sqlite', what: 'on SQLite, one run', most: 1.3 },
  { name: 'sqlite-runs', what: 'on SQLite, a run each', most: 1.3 },
]

async function measureInProcess(name: ContenderName, sessions: number, folder: string): Promise<SessionsReport> {
  const args = ['--expose-gc', '--disable-warning=ExperimentalWarning', PROCESS, name, String(sessions), folder]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1e7 })
  return JSON.parse(stdout) as SessionsReport
}

async function measureSessions(sessions: number, { quick, folder }: BenchOptions): Promise<Line[]> {
  const reports = new Map<string, SessionsReport[]>()
  const contenders = CONTENDERS.map(({ name, what }) => ({
    name: what,
    async round() {
      const report = await measureInProcess(name, sessions, folder)
      reports.set(what, [...(reports.get(what) ?? []), report])
      return report.wall_ms
    },
  }))
  const walls = await runRounds(contenders, { rounds: quick ? 1 : sessions > 1000 ? 3 : 5, warmups: 0 })
  return [...wallLines(walls, sessions), ...memoryLines(reports), ...stallLines(reports, sessions)]
}

function wallLines(walls: ReadonlyMap<string, Figure>, sessions: number): Line[] {
  return CONTENDERS.flatMap(({ what, most }) => {
    const wall = findFigure(walls, what)
    const ideal = mapFigure(wall, (ms) => ms / IDEAL_MS)
    const aim: Aim | undefined = most === undefined || sessions > 1000 ? undefined : atMost(ideal.median, most, '×')
    return [
      { what, figure: wall, unit: 'ms', times: ratiosTo(walls, what, [BARE, GENERATE]) },
      { what: `  of the ideal ${IDEAL_MS} ms`, figure: ideal, unit: '×', ...(aim && { aim }) },
    ]
  })
}

function memoryLines(reports: ReadonlyMap<string, SessionsReport[]>): Line[] {
  return CONTENDERS.flatMap(({ what, most }) => {
    const found = reports.get(what) ?? []
    const heap = toFigure(found.map((report) => report.heap_kb))
    const rss = toFigure(found.map((report) => report.rss_mb))
    const aim = most === undefined ? undefined : atMost(heap.median, MAX_HEAP_KB, 'KB')
    return [
      { what: `${what}: live heap a session`, figure: heap, unit: 'KB', ...(aim && { aim }) },
      { what: `${what}: the whole process at its largest`, figure: rss, unit: 'MB' },
    ]
  })
}

function stallLines(reports: ReadonlyMap<string, SessionsReport[]>, sessions: number): Line[] {
  return CONTENDERS.map(({ name, what }): Line => {
    const found = reports.get(what) ?? []
    const figure = toFigure(found.map((report) => report.stall_p999_ms))
    const samples = found.reduce((sum, report) => sum + report.stall_samples, 0)
    const aimed = name.startsWith('sqlite') && sessions === 1000
    const aim = aimed ? atMost(figure.median, 10, 'ms') : undefined
    return { what: `${what}: stall p99.9`, figure, unit: 'ms', note: `${samples} samples`, ...(aim && { aim }) }
  })
}

export const thousandSessions: Bench = {
  name: 'sessions-1000',
  title: '1,000 sessions at once × 5 turns at 100 ms, each in a process of its own',
  run: (options) => measureSessions(1000, options),
}

export const fiveThousandSessions: Bench = {
  name: 'sessions-5000',
  title: '5,000 sessions at once × 5 turns at 100 ms, each in a process of its own',
  run: (options) => measureSessions(5000, options),
}
