import type { RunHandle, RunResult, Troupe } from '../../index.ts'
import { routeFromOutput } from '../../views/team-view.ts'
import type { Cli } from './cli.ts'
import { printJson } from './cli.ts'
import { exitCodeFrom } from './exit-code.ts'
import { onInterrupt } from './interrupt.ts'
import { ProgressDisplay } from './progress-display.ts'
import { agreementLines } from './render/agreement-lines.ts'
import { formatRunOutput, isReplyGate, nextStepLines, summaryLine } from './render/result-lines.ts'
import { routeLines } from './render/team-progress.ts'
import { stripControlCharacters, wrapText } from './render/text-width.ts'

/** Stays with a run until it ends, waits for a person, or is interrupted; tells what happens and what came out. */
export async function followRun(
  cli: Cli,
  troupe: Troupe,
  handle: RunHandle,
  from: { after?: number } = {},
): Promise<number> {
  const { terminal, options } = cli
  const progress = new ProgressDisplay(terminal, { ...from, silent: options.json === true || options.quiet === true })
  const interrupt = onInterrupt(handle.run_id, {
    drain: () => troupe.drain(),
    note: (text) => progress.note(text),
    clear: () => progress.end(),
    terminal,
  })
  let result: RunResult
  try {
    for await (const signal of handle) progress.update(signal)
    result = await handle.result
  } finally {
    progress.end()
    interrupt.stop()
  }
  printResult(cli, result, progress.view.team.route)
  const broken = result.status === 'pending' || result.status === 'running'
  return broken && interrupt.code !== undefined ? interrupt.code : exitCodeFrom(result)
}

/** The result for whoever asked: one object for programs; for people the text, and how it went beside it. */
export function printResult(cli: Cli, result: RunResult, route = routeFromOutput(result.output)): void {
  const { terminal, options } = cli
  if (options.json) {
    printJson(cli, resultRecord(result))
    return
  }
  const text = formatRunOutput(result.output) || (result.gates.find(isReplyGate)?.question ?? '')
  if (text !== '')
    terminal.print(terminal.outputIsTTY ? wrapText(stripControlCharacters(text), terminal.out.width).join('\n') : text)
  if (!options.quiet) {
    const picture = agreementLines(result.output, terminal.err)
    for (const line of picture.length > 0 ? ['', ...picture] : []) terminal.note(line)
    for (const line of routeLines(route, terminal.err)) terminal.note(line)
    terminal.note(summaryLine(result, terminal.err))
  }
  if (!options.quiet || result.status !== 'completed')
    for (const step of nextStepLines(result, terminal.err)) terminal.note(step)
}

/** A question that a run waits for, as programs need it to answer. */
interface GateRecord {
  gate_id: string
  question: string
  choices: string[] | null
  detail: unknown
}

/** The fields that are promised, and no others; what it waits for stands there as long as it waits. */
export function resultRecord({ gates, ...record }: RunResult): Omit<RunResult, 'gates'> & { gates?: GateRecord[] } {
  if (record.status !== 'waiting') return record
  const asked = gates.map(({ gate_id, question, choices = null, detail = null }) => {
    return { gate_id, question, choices, detail }
  })
  return { ...record, gates: asked }
}
