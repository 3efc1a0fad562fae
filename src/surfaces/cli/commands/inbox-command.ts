import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { withTroupe } from '../open-troupe.ts'
import { gateLines, isReplyGate } from '../render/result-lines.ts'

/** Lists open gates, oldest first; then teams that wait for the next message, then answers that no process has applied yet. */
export function inboxCommand(cli: Cli): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const open = await troupe.gates().all()
    const unanswered = open.filter(({ pending_answer_by }) => pending_answer_by === undefined)
    const gates = [
      ...unanswered.filter((gate) => !isReplyGate(gate)),
      ...unanswered.filter(isReplyGate),
      ...open.filter((gate) => !unanswered.includes(gate)),
    ]
    const { terminal } = cli
    if (cli.options.json) printJson(cli, gates)
    else if (gates.length === 0) terminal.note('no open questions')
    else terminal.print(gates.map((gate) => gateLines(gate, terminal.out).join('\n')).join('\n\n'))
    return EXIT.done
  })
}
