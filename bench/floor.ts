import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Bench, Line } from './bench.ts'
import { findFigure, runRounds } from './rounds.ts'

/* What this disk costs anyone: one row, one commit, nothing else. It is the floor under every journalled figure. */

function measureCommits(folder: string, sync: 'NORMAL' | 'FULL', count: number): number {
  const db = new DatabaseSync(join(folder, `floor-${randomBytes(4).toString('hex')}.db`))
  db.exec(`PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${sync}`)
  db.exec('CREATE TABLE events (id INTEGER PRIMARY KEY, run INTEGER, seq INTEGER, data TEXT)')
  const insert = db.prepare('INSERT INTO events (run, seq, data) VALUES (1, ?, ?)')
  const data = randomBytes(256).toString('hex')
  const from = performance.now()
  for (let seq = 0; seq < count; seq++) insert.run(seq, data)
  const ms = performance.now() - from
  db.close()
  return (ms * 1000) / count
}

export const floor: Bench = {
  name: 'floor',
  title: 'This disk: one 512-byte row in one bare SQLite commit',
  async run({ quick, folder }) {
    const count = quick ? 100 : 500
    const contenders = (['NORMAL', 'FULL'] as const).map((sync) => ({
      name: `synchronous=${sync}`,
      round: async () => measureCommits(folder, sync, count),
    }))
    const figures = await runRounds(contenders, { rounds: quick ? 3 : 7 })
    return contenders.map(({ name }): Line => ({ what: name, figure: findFigure(figures, name), unit: 'µs' }))
  },
}
