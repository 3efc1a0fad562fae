import type { RunHandle, RunResult, Troupe } from '../../index.ts'
import type { Cli } from './cli.ts'
import { printJson } from './cli.ts'
import { exitOf } from './exit.ts'
import { onInterrupt } from './interrupt.ts'
import { Progress } from './progress.ts'
import { agreementLines } from './render/agreement.ts'
import { isReply, nextSteps, outputText, summaryLine } from './render/result.ts'
import { routeLines } from './render/team-progress.ts'
import { routeOf } from './render/team-told.ts'
import { harmless, wrap } from './render/width.ts'

/** Stays with a run until it ends, waits for a person, or is interrupted; tells what happens and what came out. */
export async function attend(
  cli: Cli,
  troupe: Troupe,
  handle: RunHandle,
  from: { after?: number } = {},
): Promise<number> {
  const { terminal, options } = cli
  const progress = new Progress(terminal, { ...from, silent: options.json === true || options.quiet === true })
  const interrupt = onInterrupt(handle.run_id, {
    drain: () => troupe.drain(),
    note: (text) => progress.note(text),
    clear: () => progress.end(),
    terminal,
  })
  let result: RunResult
  try {
    for await (const signal of handle) progress.take(signal)
    result = await handle.result
  } finally {
    progress.end()
    interrupt.stop()
  }
  conclude(cli, result, progress.story.team.route)
  const broken = result.status === 'pending' || result.status === 'running'
  return broken && interrupt.code !== undefined ? interrupt.code : exitOf(result)
}

/** The result for whoever asked: one object for programs; for people the text, and how it went beside it. */
export function conclude(cli: Cli, result: RunResult, route = routeOf(result.output)): void {
  const { terminal, options } = cli
  if (options.json) {
    printJson(cli, resultRecord(result))
    return
  }
  const text = outputText(result.output) || (result.gates.find(isReply)?.question ?? '')
  if (text !== '') terminal.print(terminal.read ? wrap(harmless(text), terminal.out.width).join('\n') : text)
  if (!options.quiet) {
    const picture = agreementLines(result.output, terminal.err)
    for (const line of picture.length > 0 ? ['', ...picture] : []) terminal.note(line)
    for (const line of routeLines(route, terminal.err)) terminal.note(line)
    terminal.note(summaryLine(result, terminal.err))
  }
  if (!options.quiet || result.status !== 'completed')
    for (const step of nextSteps(result, terminal.err)) terminal.note(step)
}

/** A question that a run waits for, as programs need it to answer. */
interface Asked {
  gate_id: string
  question: string
  choices: string[] | null
  detail: unknown
}

/** The fields that are promised, and no others; what it waits for stands there as long as it waits. */
export function resultRecord({ gates, ...record }: RunResult): Omit<RunResult, 'gates'> & { gates?: Asked[] } {
  if (record.status !== 'waiting') return record
  const asked = gates.map(({ gate_id, question, choices = null, detail = null }) => {
    return { gate_id, question, choices, detail }
  })
  return { ...record, gates: asked }
}
