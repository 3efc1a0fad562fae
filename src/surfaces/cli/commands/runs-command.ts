import type { Status } from '../../../kernel/event.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { storePath, withTroupe } from '../open-troupe.ts'
import { runsTable } from '../render/runs-table.ts'
import { withProgramName } from '../render/styled-line.ts'

export function runsCommand(cli: Cli<{ status?: Status[]; tag?: string[]; number?: number }>): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { status, tag: tags, number = 20 } = cli.options
    const filter = { ...(status ? { status } : undefined), ...(tags ? { tags } : undefined) }
    const found = await troupe.runs({ limit: number, ...filter })
    const rows = found.map((row) => ({ ...row, is_running: troupe.isRunning(row) }))
    if (cli.options.json) printJson(cli, rows)
    else if (rows.length > 0) for (const line of runsTable(rows, Date.now(), cli.terminal.out)) cli.terminal.print(line)
    else
      cli.terminal.note(
        status || tags
          ? `no runs with ${describeFilter(status, tags)}`
          : `no runs in ${storePath(cli)}; start one with: ${withProgramName(cli.terminal.err, 'troupe run --help')}`,
      )
    return EXIT.done
  })
}

function describeFilter(status: readonly Status[] = [], tags: readonly string[] = []): string {
  const parts = [
    ...(status.length > 0 ? [`status ${status.join(' or ')}`] : []),
    ...(tags.length > 0 ? [`tag ${tags.join(' and ')}`] : []),
  ]
  return parts.join(', ')
}
