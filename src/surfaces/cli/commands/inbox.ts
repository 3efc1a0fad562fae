import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit.ts'
import { withTroupe } from '../open.ts'
import { gateLines } from '../render/result.ts'

/** Every question that waits for a person, the oldest first. */
export function inbox(cli: Cli): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const gates = await troupe.inbox()
    const { terminal } = cli
    if (cli.options.json) printJson(cli, gates)
    else if (gates.length === 0) terminal.note('nothing waits for an answer')
    else terminal.print(gates.map((gate) => gateLines(gate, terminal.out).join('\n')).join('\n\n'))
    return EXIT.done
  })
}
