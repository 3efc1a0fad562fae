import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Bench, Line } from './bench.ts'
import { findFigure, runRounds } from './rounds.ts'

/* The cost of a bare SQLite commit with one row on this disk: the lower bound of every journalled figure. */

function measureCommits(folder: string, sync: 'NORMAL' | 'FULL', count: number): number {
  const db = new DatabaseSync(join(folder, `floor-${randomBytes(4).toString('hex')}.db`))
  db.exec(`PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${sync}`)
  db.exec('CREATE TABLE events (id INTEGER PRIMARY KEY, run INTEGER, seq INTEGER, data TEXT)')
  const insert = db.prepare('INSERT INTO events (run, seq, data) VALUES (1, ?, ?)')
  const data = randomBytes(256).toString('hex')
  const start = performance.now()
  for (let seq = 0; seq < count; seq++) insert.run(seq, data)
  const ms = performance.now() - start
  db.close()
  return (ms * 1000) / count
}

export const floor: Bench = {
  name: 'floor',
  title: 'Disk: a bare SQLite commit with one 512-byte row',
  async run({ quick, folder }) {
    const count = quick ? 100 : 500
    const contenders = (['NORMAL', 'FULL'] as const).map((sync) => ({
      name: `synchronous=${sync}`,
      round: async () => measureCommits(folder, sync, count),
    }))
    const figures = await runRounds(contenders, { rounds: quick ? 3 : 7 })
    return contenders.map(({ name }): Line => ({ label: name, figure: findFigure(figures, name), unit: 'µs' }))
  },
}
