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
 * Follows a run in any process by polling its events with a cursor. Quitting does not cancel the run. Ends when the run
 * ends or waits, or when no process has run it for a while.
 */

const POLL_MS = 150
const IDLE_TIMEOUT_MS = 3000

export function watchCommand(cli: Cli<{ fromStart?: boolean }>, runId: string | undefined): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, runId)
    const { terminal, options } = cli
    const after = options.fromStart || row.ended_at !== null ? 0 : row.head
    const progress = new ProgressDisplay(terminal, { after, silent: options.json === true })
    if (after > 0 && !options.json) terminal.note(watchHeader(row, terminal.err))
    try {
      await followEvents(cli, troupe, { run_id: row.run_id, after, progress })
    } finally {
      progress.end()
    }
    const result = await troupe.result(row.run_id)
    const isStopped = result.status === 'pending' || result.status === 'running'
    if (isStopped && !options.json)
      terminal.note(
        withProgramName(terminal.err, `no process is running ${row.run_id}; resume with: troupe resume ${row.run_id}`),
      )
    else if (!options.json) printResult(cli, result)
    return isStopped ? EXIT.failed : exitCodeFrom(result)
  })
}

interface WatchContext {
  run_id: string
  /** Events up to this seq are not printed. */
  after: number
  progress: ProgressDisplay
}

async function followEvents(cli: Cli, troupe: Troupe, { run_id, after, progress }: WatchContext): Promise<void> {
  let cursor = 0
  let idleSince = Date.now()
  for (;;) {
    // Read the row before the events: its final status must not precede events that were not read yet.
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
