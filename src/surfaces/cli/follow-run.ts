import type { RunHandle, RunResult, Troupe } from '../../index.ts'
import { outputText, patternPanels } from '../../views/pattern-views.ts'
import { recordedStatus } from '../../views/result-status.ts'
import type { RunView } from '../../views/run-view.ts'
import { stripControlCharacters, wrapText } from '../../views/text-width.ts'
import { stoppingText } from '../../views/waiting.ts'
import type { Cli } from './cli.ts'
import { printJson } from './cli.ts'
import { EXIT, exitCodeFrom } from './exit-code.ts'
import { onInterrupt } from './interrupt.ts'
import { ProgressDisplay } from './progress-display.ts'
import { isReplyGate, nextStepLines, summaryLine } from './render/result-lines.ts'
import { withProgramName } from './render/styled-line.ts'

/** Follows a run until it ends, waits for a human or is interrupted; prints progress and the result. */
export async function followRun(
  cli: Cli,
  troupe: Troupe,
  { handle, after = 0 }: { handle: RunHandle; after?: number },
): Promise<number> {
  const { terminal, options } = cli
  terminal.keepRunning?.()
  const progress = new ProgressDisplay(terminal, {
    after,
    silent: options.json === true || options.quiet === true,
    patterns: troupe.patterns,
    readWaiting: () => troupe.waiting(handle.run_id),
  })
  const interrupt = onInterrupt(`stopped; resume with: troupe resume ${handle.run_id}`, {
    drain: () => troupe.drain(),
    waits: () => stoppingText(progress.waiting, Date.now()),
    note: (text) => progress.note(text),
    clear: () => progress.end(),
    terminal,
  })
  let result: RunResult
  try {
    for await (const item of handle) await progress.update(item)
    result = await handle.result
  } finally {
    progress.end()
    interrupt.stop()
  }
  const row = await troupe.getRun(handle.run_id)
  // A worker may have taken the run at the moment of the answer.
  if (interrupt.code === undefined && row.ended_at === null && troupe.isRunning(row)) {
    printOtherProcess(cli, result)
    return EXIT.done
  }
  await printResult(cli, result, progress.view)
  const interrupted = result.status === 'pending' || result.status === 'running'
  return interrupted && interrupt.code !== undefined ? interrupt.code : exitCodeFrom(result)
}

function printOtherProcess(cli: Cli, result: RunResult): void {
  const { run_id } = result
  if (cli.options.json) printJson(cli, resultRecord(result))
  else
    cli.terminal.note(
      withProgramName(
        cli.terminal.err,
        `${run_id} continues in another process; follow it with: troupe watch ${run_id}`,
      ),
    )
}

/** Prints the result: with `--json` one object on stdout, otherwise the text on stdout and a summary on stderr. */
export async function printResult(cli: Cli, result: RunResult, view: RunView): Promise<void> {
  const { terminal, options } = cli
  if (options.json) {
    printJson(cli, resultRecord(result))
    return
  }
  const text =
    outputText(view.patterns, view.start?.pattern ?? '', result.output) ||
    (result.gates.find(isReplyGate)?.question ?? '')
  if (text !== '')
    terminal.print(terminal.outputIsTTY ? wrapText(stripControlCharacters(text), terminal.out.width).join('\n') : text)
  if (!options.quiet) {
    const panels = patternPanels(view)
    const section = panels.length > 0 ? (await import('./render/block-lines.ts')).panelLines(panels, terminal.err) : []
    for (const line of section.length > 1 ? ['', ...section] : section) terminal.note(line)
    terminal.note(summaryLine(result, terminal.err, view.run.progress))
  }
  if (!options.quiet || result.status !== 'completed')
    for (const step of nextStepLines(result, terminal.err)) terminal.note(step)
}

/** An open gate in the `--json` output. */
interface GateRecord {
  gate_id: string
  question: string
  choices: string[] | null
  detail: unknown
}

/** The documented fields of a result; `gates` only while the run waits. */
export function resultRecord({ gates, ...result }: RunResult): Omit<RunResult, 'gates'> & { gates?: GateRecord[] } {
  const record = { ...result, status: recordedStatus(result.status) }
  if (record.status !== 'waiting') return record
  const open = gates.map(({ gate_id, question, choices = null, detail = null }) => {
    return { gate_id, question, choices, detail }
  })
  return { ...record, gates: open }
}
