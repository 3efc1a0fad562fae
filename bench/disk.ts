import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Bench, BenchOptions, Line } from './bench.ts'
import { atMost } from './bench.ts'
import type { Layout } from './disk-layouts.ts'
import { LAYOUTS, TEXT_A_TURN } from './disk-layouts.ts'
import { figureOf } from './rounds.ts'

const FEW = 200
const MANY = 2000

interface Conversation {
  /** The file after everything was copied into it. */
  bytes: number
  wal_bytes: number
  /** When each turn ended, in ms. */
  ended: number[]
}

async function converse(layout: Layout, file: string, turns: number): Promise<Conversation> {
  const ended: number[] = []
  let wal_bytes = 0
  await layout.talk(file, turns, () => {
    ended.push(performance.now())
    wal_bytes = Math.max(wal_bytes, sizeOf(`${file}-wal`))
  })
  const db = new DatabaseSync(file)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  return { bytes: sizeOf(file), wal_bytes, ended }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** µs a turn from one turn to another. */
function pace(ended: readonly number[], from: number, to: number): number {
  return (((ended[to - 1] ?? 0) - (ended[from] ?? 0)) * 1000) / (to - 1 - from)
}

async function measure(layout: Layout, { quick, folder }: BenchOptions): Promise<Line[]> {
  const rounds = quick ? 1 : layout.rounds
  const [few, many]: [Conversation[], Conversation[]] = [[], []]
  const place = LAYOUTS.indexOf(layout)
  for (let round = 0; round < rounds; round++) {
    few.push(await converse(layout, join(folder, `disk-${place}-${round}-few.db`), FEW))
    many.push(await converse(layout, join(folder, `disk-${place}-${round}-many.db`), MANY))
  }
  const size = (found: Conversation[], turns: number) =>
    figureOf(found.map(({ bytes }) => bytes / (turns * TEXT_A_TURN)))
  const growth = figureOf(
    many.map(({ bytes }, round) => (bytes - (few[round]?.bytes ?? 0)) / ((MANY - FEW) * TEXT_A_TURN)),
  )
  const first = figureOf(many.map(({ ended }) => pace(ended, MANY / 20, MANY / 4)))
  const last = figureOf(many.map(({ ended }) => pace(ended, (MANY * 3) / 4, MANY)))
  const flat = { text: 'flat: the last quarter ≤ 1.25× the first', met: last.median <= first.median * 1.25 }
  return [
    { what: layout.what, figure: size(few, FEW), unit: '×', note: `bytes ÷ text, ${FEW} turns` },
    { what: `  ${MANY} turns`, figure: size(many, MANY), unit: '×', note: 'bytes ÷ text' },
    { what: `  from turn ${FEW} to ${MANY}`, figure: growth, unit: '×', aim: atMost(growth.median, 1.5, '×') },
    { what: '  largest log', figure: figureOf(many.map(({ wal_bytes }) => wal_bytes / 1024 / 1024)), unit: 'MB' },
    { what: '  a turn, first quarter', figure: first, unit: 'µs' },
    { what: '  a turn, last quarter', figure: last, unit: 'µs', aim: flat },
  ]
}

export const disk: Bench = {
  name: 'disk',
  title: 'Disk for 1 KB of incompressible text each way and turn, after a checkpoint',
  async run(options) {
    const lines: Line[] = []
    for (const layout of LAYOUTS) lines.push(...(await measure(layout, options)))
    return lines
  },
}
