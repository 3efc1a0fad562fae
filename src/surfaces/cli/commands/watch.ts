import { setTimeout as pause } from 'node:timers/promises'
import type { Troupe } from '../../../index.ts'
import { conclude } from '../attend.ts'
import type { Cli } from '../cli.ts'
import { EXIT, exitOf } from '../exit.ts'
import { findRun } from '../find.ts'
import { withTroupe } from '../open.ts'
import { Progress } from '../progress.ts'
import { typable } from '../render/line.ts'
import { watchedLine } from '../render/run.ts'

/*
 * Watching a run that any process may work on: events are read from the store behind a cursor. Leaving is not
 * cancelling. It ends with the run, at a question, or when nobody has worked on the run for a while.
 */

const LOOK_MS = 150
const NOBODY_MS = 3000

export function watch(cli: Cli<{ fromStart?: boolean }>, wanted: string | undefined): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, wanted)
    const { terminal, options } = cli
    const told = options.fromStart || row.ended_at !== null ? 0 : row.head
    const progress = new Progress(terminal, { after: told, silent: options.json === true })
    if (told > 0 && !options.json) terminal.note(watchedLine(row, terminal.err))
    try {
      await follow(cli, troupe, { run_id: row.run_id, told, progress })
    } finally {
      progress.end()
    }
    const result = await troupe.result(row.run_id)
    const left = result.status === 'pending' || result.status === 'running'
    if (left && !options.json)
      terminal.note(typable(terminal.err, `nobody works on ${row.run_id}; go on with: troupe resume ${row.run_id}`))
    else if (!options.json) conclude(cli, result)
    return left ? EXIT.failed : exitOf(result)
  })
}

interface Watched {
  run_id: string
  /** Events up to here are history. */
  told: number
  progress: Progress
}

async function follow(cli: Cli, troupe: Troupe, { run_id, told, progress }: Watched): Promise<void> {
  let cursor = 0
  let idleSince = Date.now()
  for (;;) {
    // The row first: what it says is then surely among the events that are read after it.
    const row = await troupe.store.run(run_id)
    const events = await troupe.store.events(run_id, { after: cursor })
    for (const event of events) {
      cursor = event.seq
      if (cli.options.json && event.seq > told) cli.terminal.print(JSON.stringify(event))
      progress.take({ event })
    }
    if (!row || row.ended_at !== null || row.status === 'waiting') return
    if (troupe.isUnderWay(row)) idleSince = Date.now()
    if (Date.now() - idleSince > NOBODY_MS) return
    await pause(LOOK_MS)
  }
}
