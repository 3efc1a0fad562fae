import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Bench, BenchOptions, Line } from './bench.ts'
import { atMost } from './bench.ts'
import type { Layout } from './disk-layouts.ts'
import { LAYOUTS, TEXT_BYTES_PER_TURN } from './disk-layouts.ts'
import { toFigure } from './rounds.ts'

const FEW_TURNS = 200
const MANY_TURNS = 2000

interface Conversation {
  /** Size of the database file after a checkpoint. */
  bytes: number
  wal_bytes: number
  /** End time of each turn in ms. */
  turn_ends: number[]
}

async function runConversation(layout: Layout, file: string, turns: number): Promise<Conversation> {
  const turn_ends: number[] = []
  let wal_bytes = 0
  await layout.run(file, turns, () => {
    turn_ends.push(performance.now())
    wal_bytes = Math.max(wal_bytes, fileSize(`${file}-wal`))
  })
  const db = new DatabaseSync(file)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  return { bytes: fileSize(file), wal_bytes, turn_ends }
}

function fileSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Mean µs per turn between two turns. */
function microsecondsPerTurn(turn_ends: readonly number[], from: number, to: number): number {
  return (((turn_ends[to - 1] ?? 0) - (turn_ends[from] ?? 0)) * 1000) / (to - 1 - from)
}

async function measure(layout: Layout, { quick, folder }: BenchOptions): Promise<Line[]> {
  const rounds = quick ? 1 : layout.rounds
  const [few, many]: [Conversation[], Conversation[]] = [[], []]
  const index = LAYOUTS.indexOf(layout)
  for (let round = 0; round < rounds; round++) {
    few.push(await runConversation(layout, join(folder, `disk-${index}-${round}-few.db`), FEW_TURNS))
    many.push(await runConversation(layout, join(folder, `disk-${index}-${round}-many.db`), MANY_TURNS))
  }
  const size = (found: Conversation[], turns: number) =>
    toFigure(found.map(({ bytes }) => bytes / (turns * TEXT_BYTES_PER_TURN)))
  const growth = toFigure(
    many.map(
      ({ bytes }, round) => (bytes - (few[round]?.bytes ?? 0)) / ((MANY_TURNS - FEW_TURNS) * TEXT_BYTES_PER_TURN),
    ),
  )
  const first = toFigure(many.map(({ turn_ends }) => microsecondsPerTurn(turn_ends, MANY_TURNS / 20, MANY_TURNS / 4)))
  const last = toFigure(many.map(({ turn_ends }) => microsecondsPerTurn(turn_ends, (MANY_TURNS * 3) / 4, MANY_TURNS)))
  const flat = { text: 'last quarter ≤ 1.25× the first', met: last.median <= first.median * 1.25 }
  return [
    { label: layout.label, figure: size(few, FEW_TURNS), unit: '×', note: `bytes ÷ text, ${FEW_TURNS} turns` },
    { label: `  ${MANY_TURNS} turns`, figure: size(many, MANY_TURNS), unit: '×', note: 'bytes ÷ text' },
    {
      label: `  from turn ${FEW_TURNS} to ${MANY_TURNS}`,
      figure: growth,
      unit: '×',
      target: atMost(growth.median, 2, '×'),
    },
    { label: '  largest WAL', figure: toFigure(many.map(({ wal_bytes }) => wal_bytes / 1024 / 1024)), unit: 'MB' },
    { label: '  µs per turn, first quarter', figure: first, unit: 'µs' },
    { label: '  µs per turn, last quarter', figure: last, unit: 'µs', target: flat },
  ]
}

export const disk: Bench = {
  name: 'disk',
  title: 'Disk space for turns with 1 KB of incompressible input and output, after a checkpoint',
  async run(options) {
    const lines: Line[] = []
    for (const layout of LAYOUTS) lines.push(...(await measure(layout, options)))
    return lines
  },
}
