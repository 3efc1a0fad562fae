import { setTimeout as pause } from 'node:timers/promises'
import type { Troupe } from '../../../index.ts'
import type { Cli } from '../cli.ts'
import { EXIT, exitCodeFrom } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { printResult } from '../follow-run.ts'
import { withTroupe } from '../open-troupe.ts'
import { ProgressDisplay } from '../progress-display.ts'
import { watchHeader } from '../render/run-header.ts'
import { withProgramName } from '../render/styled-line.ts'

/*
 * Watching a run that any process may work on: events are read from the store behind a cursor. Leaving is not
 * cancelling. It ends with the run, at a question, or when nobody has worked on the run for a while.
 */

const POLL_MS = 150
const IDLE_TIMEOUT_MS = 3000

export function watchCommand(cli: Cli<{ fromStart?: boolean }>, wanted: string | undefined): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, wanted)
    const { terminal, options } = cli
    const after = options.fromStart || row.ended_at !== null ? 0 : row.head
    const progress = new ProgressDisplay(terminal, { after: after, silent: options.json === true })
    if (after > 0 && !options.json) terminal.note(watchHeader(row, terminal.err))
    try {
      await followEvents(cli, troupe, { run_id: row.run_id, after, progress })
    } finally {
      progress.end()
    }
    const result = await troupe.result(row.run_id)
    const left = result.status === 'pending' || result.status === 'running'
    if (left && !options.json)
      terminal.note(
        withProgramName(terminal.err, `nobody works on ${row.run_id}; go on with: troupe resume ${row.run_id}`),
      )
    else if (!options.json) printResult(cli, result)
    return left ? EXIT.failed : exitCodeFrom(result)
  })
}

interface WatchContext {
  run_id: string
  /** Events up to here are history. */
  after: number
  progress: ProgressDisplay
}

async function followEvents(cli: Cli, troupe: Troupe, { run_id, after, progress }: WatchContext): Promise<void> {
  let cursor = 0
  let idleSince = Date.now()
  for (;;) {
    // The row first: what it says is then surely among the events that are read after it.
    const row = await troupe.store.run(run_id)
    const events = await troupe.store.events(run_id, { after: cursor })
    for (const event of events) {
      cursor = event.seq
      if (cli.options.json && event.seq > after) cli.terminal.print(JSON.stringify(event))
      progress.update({ event })
    }
    if (!row || row.ended_at !== null || row.status === 'waiting') return
    if (troupe.isRunning(row)) idleSince = Date.now()
    if (Date.now() - idleSince > IDLE_TIMEOUT_MS) return
    await pause(POLL_MS)
  }
}
