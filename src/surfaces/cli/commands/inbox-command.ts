import type { NeedsReport } from '../../../entries/inspect.ts'
import type { GateRow, Troupe } from '../../../index.ts'
import { missingPartsText } from '../../../views/needs-text.ts'
import { wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { withTroupe } from '../open-troupe.ts'
import { readMissingParts } from '../read-missing-parts.ts'
import { gateLines, isReplyGate } from '../render/result-lines.ts'
import type { TerminalStyle } from '../render/styled-line.ts'

/** Lists open gates, oldest first; then teams that wait for the next message, then answers that no process has applied yet. */
export function inboxCommand(cli: Cli): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const open = await troupe.gates().all()
    const unanswered = open.filter(({ pending_answer_by }) => pending_answer_by === undefined)
    const sorted = [
      ...unanswered.filter((gate) => !isReplyGate(gate)),
      ...unanswered.filter(isReplyGate),
      ...open.filter((gate) => !unanswered.includes(gate)),
    ]
    const gates = await Promise.all(sorted.map((gate) => withMissingParts(troupe, gate)))
    const { terminal } = cli
    if (cli.options.json) printJson(cli, gates)
    else if (gates.length === 0) terminal.note('no open questions')
    else terminal.print(gates.map((gate) => inboxLines(gate, terminal.out).join('\n')).join('\n\n'))
    return EXIT.done
  })
}

type InboxGate = GateRow & { missing: NeedsReport['missing'] }

/** Adds what this process lacks to continue the run: such a question can be answered here, but not carried on. */
async function withMissingParts(troupe: Troupe, gate: GateRow): Promise<InboxGate> {
  const needs = await readMissingParts(troupe, await troupe.getRun(gate.run_id))
  return { ...gate, missing: needs?.missing ?? [] }
}

function inboxLines({ missing, ...gate }: InboxGate, style: TerminalStyle): string[] {
  const text = missingPartsText({ missing, started_by: null })
  return [...gateLines(gate, style, text === ''), ...(text === '' ? [] : wrapText(`  the run ${text}`, style.width, 4))]
}
