import { readTraceFile } from '../../../formats/trace-file.ts'
import { findLoops } from '../../../judgement/loop/find-loops.ts'
import { pluralize } from '../../../views/format-amount.ts'
import { toTerminalLine } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'

const MAX_POSITIONS = 8

/** Prints the suspected loops of a trace that any program recorded. */
export async function loopsCommand(cli: Cli, file: string): Promise<number> {
  const { messages, records } = await readTraceFile(file)
  const position = (index: number): number => records[index] ?? index
  const findings = findLoops(messages).map((finding) => ({
    ...finding,
    at: position(finding.at),
    evidence: finding.evidence.map(position),
  }))
  if (cli.options.json) {
    printJson(cli, { file, messages: messages.length, findings })
    return EXIT.done
  }
  const { terminal } = cli
  for (const { kind, at, evidence, message } of findings) {
    const shown = evidence.slice(0, MAX_POSITIONS).join(', ') + (evidence.length > MAX_POSITIONS ? ', …' : '')
    const label = terminal.out.paint('yellow', kind.replace('_', ' '))
    terminal.print(
      `${String(at).padStart(5)}  ${label}  ${toTerminalLine(message)}${shown === '' ? '' : `  (as at ${shown})`}`,
    )
  }
  const found = findings.length === 0 ? 'no loop' : pluralize(findings.length, 'finding')
  terminal.print(`${found} in ${pluralize(messages.length, 'message')}`)
  return EXIT.done
}
