import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { withTroupe } from '../open-troupe.ts'
import { gateLines, isReplyGate } from '../render/result-lines.ts'

/** Lists open gates, oldest first; teams that only wait for the next message come last. */
export function inboxCommand(cli: Cli): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const open = await troupe.gates().all()
    const gates = [...open.filter((gate) => !isReplyGate(gate)), ...open.filter(isReplyGate)]
    const { terminal } = cli
    if (cli.options.json) printJson(cli, gates)
    else if (gates.length === 0) terminal.note('no open questions')
    else terminal.print(gates.map((gate) => gateLines(gate, terminal.out).join('\n')).join('\n\n'))
    return EXIT.done
  })
}
