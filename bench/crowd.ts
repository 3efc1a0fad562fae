import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Aim, Bench, BenchOptions, Figure, Line } from './bench.ts'
import { atMost } from './bench.ts'
import type { CrowdName, CrowdReport } from './crowd-process.ts'
import { figureFor, figureOf, mapFigure, takeTurns, timesOf } from './rounds.ts'
import { BARE, GENERATE } from './talk.ts'

const IDEAL_MS = 500
const MOST_KB = 40
const PROCESS = fileURLToPath(new URL('crowd-process.ts', import.meta.url))

/** Who is measured, under which name, and how far over the ideal the issue lets it be. */
const CROWDS: readonly { name: CrowdName; what: string; most?: number }[] = [
  { name: 'bare', what: BARE },
  { name: 'generate', what: GENERATE },
  { name: 'memory', what: 'in memory, one run', most: 1.15 },
  { name: 'memory-runs', what: 'in memory, a run each', most: 1.15 },
  { name: 'sqlite', what: 'on SQLite, one run', most: 1.3 },
  { name: 'sqlite-runs', what: 'on SQLite, a run each', most: 1.3 },
]

async function inProcess(name: CrowdName, sessions: number, folder: string): Promise<CrowdReport> {
  const args = ['--expose-gc', '--disable-warning=ExperimentalWarning', PROCESS, name, String(sessions), folder]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1e7 })
  return JSON.parse(stdout) as CrowdReport
}

async function crowds(sessions: number, { quick, folder }: BenchOptions): Promise<Line[]> {
  const reports = new Map<string, CrowdReport[]>()
  const contenders = CROWDS.map(({ name, what }) => ({
    name: what,
    async round() {
      const report = await inProcess(name, sessions, folder)
      reports.set(what, [...(reports.get(what) ?? []), report])
      return report.wall_ms
    },
  }))
  const walls = await takeTurns(contenders, { rounds: quick ? 1 : sessions > 1000 ? 3 : 5, warmups: 0 })
  return [...wallLines(walls, sessions), ...memoryLines(reports), ...stallLines(reports, sessions)]
}

function wallLines(walls: ReadonlyMap<string, Figure>, sessions: number): Line[] {
  return CROWDS.flatMap(({ what, most }) => {
    const wall = figureFor(walls, what)
    const ideal = mapFigure(wall, (ms) => ms / IDEAL_MS)
    const aim: Aim | undefined = most === undefined || sessions > 1000 ? undefined : atMost(ideal.median, most, '×')
    return [
      { what, figure: wall, unit: 'ms', times: timesOf(walls, what, [BARE, GENERATE]) },
      { what: `  of the ideal ${IDEAL_MS} ms`, figure: ideal, unit: '×', ...(aim && { aim }) },
    ]
  })
}

function memoryLines(reports: ReadonlyMap<string, CrowdReport[]>): Line[] {
  return CROWDS.flatMap(({ what, most }) => {
    const found = reports.get(what) ?? []
    const heap = figureOf(found.map((report) => report.heap_kb))
    const rss = figureOf(found.map((report) => report.rss_mb))
    const aim = most === undefined ? undefined : atMost(heap.median, MOST_KB, 'KB')
    return [
      { what: `${what}: live heap a session`, figure: heap, unit: 'KB', ...(aim && { aim }) },
      { what: `${what}: the whole process at its largest`, figure: rss, unit: 'MB' },
    ]
  })
}

function stallLines(reports: ReadonlyMap<string, CrowdReport[]>, sessions: number): Line[] {
  return CROWDS.map(({ name, what }): Line => {
    const found = reports.get(what) ?? []
    const figure = figureOf(found.map((report) => report.stall_p999_ms))
    const samples = found.reduce((sum, report) => sum + report.stall_samples, 0)
    const aimed = name.startsWith('sqlite') && sessions === 1000
    const aim = aimed ? atMost(figure.median, 10, 'ms') : undefined
    return { what: `${what}: stall p99.9`, figure, unit: 'ms', note: `${samples} samples`, ...(aim && { aim }) }
  })
}

export const thousand: Bench = {
  name: 'sessions-1000',
  title: '1,000 sessions at once × 5 turns at 100 ms, each in a process of its own',
  run: (options) => crowds(1000, options),
}

export const fiveThousand: Bench = {
  name: 'sessions-5000',
  title: '5,000 sessions at once × 5 turns at 100 ms, each in a process of its own',
  run: (options) => crowds(5000, options),
}
