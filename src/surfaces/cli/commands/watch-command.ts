import type { RunRow, Troupe } from '../../../index.ts'
import type { Cli } from '../cli.ts'
import { EXIT, exitCodeFrom } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { printResult } from '../follow-run.ts'
import { toInertJson } from '../inert-output.ts'
import { withTroupe } from '../open-troupe.ts'
import { ProgressDisplay } from '../progress-display.ts'
import { watchHeader } from '../render/run-header.ts'
import { withProgramName } from '../render/styled-line.ts'

/*
 * Follows a run in any process. Quitting does not cancel the run. Ends when the run ends or waits, or when no process has
 * run it for a while.
 */

/** A process that was killed commits nothing, so that its end has to be looked for. */
const OWNER_CHECK_MS = 1000
const CHECKS_WITHOUT_OWNER = 3

export function watchCommand(cli: Cli<{ fromStart?: boolean }>, runId: string | undefined): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, runId)
    const { terminal, options } = cli
    const after = options.fromStart || row.ended_at !== null ? 0 : row.head
    const progress = new ProgressDisplay(terminal, {
      after,
      silent: options.json === true,
      patterns: troupe.patterns,
      readWaiting: () => troupe.waiting(row.run_id),
      ...(options.json ? { onWaiting: (waiting) => terminal.print(toInertJson({ waiting })) } : undefined),
    })
    if (after > 0 && !options.json) terminal.note(watchHeader(row, terminal.err))
    try {
      await followEvents(cli, troupe, { row, after, progress })
    } finally {
      progress.end()
    }
    const result = await troupe.result(row.run_id)
    const isStopped = result.status === 'pending' || result.status === 'running'
    if (isStopped && !options.json)
      terminal.note(
        withProgramName(terminal.err, `no process is running ${row.run_id}; resume with: troupe resume ${row.run_id}`),
      )
    else if (!options.json) await printResult(cli, result, progress.view)
    return isStopped ? EXIT.failed : exitCodeFrom(result)
  })
}

interface WatchContext {
  row: RunRow
  /** Events up to this seq are not printed. */
  after: number
  progress: ProgressDisplay
}

async function followEvents(cli: Cli, troupe: Troupe, { row, after, progress }: WatchContext): Promise<void> {
  const abandoned = new AbortController()
  const stopChecking = checkOwner(troupe, row.run_id, () => abandoned.abort('no process runs it'))
  try {
    for await (const event of troupe.watch(row.run_id, { signal: abandoned.signal })) {
      if (cli.options.json && event.seq > after) cli.terminal.print(toInertJson(event))
      await progress.update({ event })
      // An earlier `run:park` is history: the run has continued since.
      if (event.type === 'run:park' && event.seq >= row.head) return
    }
  } finally {
    stopChecking()
  }
}

/** Calls `onAbandoned` when no process has run it for a while; returns a function that stops the checks. */
function checkOwner(troupe: Troupe, run_id: string, onAbandoned: () => void): () => void {
  let misses = 0
  const check = async () => {
    misses = troupe.isRunning(await troupe.getRun(run_id)) ? 0 : misses + 1
    if (misses >= CHECKS_WITHOUT_OWNER) onAbandoned()
  }
  // A store error reaches the watcher itself.
  const timer = setInterval(() => void check().catch(() => {}), OWNER_CHECK_MS)
  return () => clearInterval(timer)
}
