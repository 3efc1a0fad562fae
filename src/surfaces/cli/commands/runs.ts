import type { Status } from '../../../kernel/event.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit.ts'
import { storePath, withTroupe } from '../open.ts'
import { typable } from '../render/line.ts'
import { runsTable } from '../render/runs.ts'

export function runs(cli: Cli<{ status?: Status[]; number?: number }>): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { status, number = 20 } = cli.options
    const found = await troupe.runs({ limit: number, ...(status ? { status } : undefined) })
    const rows = found.map((row) => ({ ...row, under_way: troupe.isUnderWay(row) }))
    if (cli.options.json) printJson(cli, rows)
    else if (rows.length > 0) for (const line of runsTable(rows, Date.now(), cli.terminal.out)) cli.terminal.print(line)
    else
      cli.terminal.note(
        status
          ? `no run is ${status.join(' or ')}`
          : `no runs in ${storePath(cli)} yet; begin with: ${typable(cli.terminal.err, 'troupe run --help')}`,
      )
    return EXIT.done
  })
}
