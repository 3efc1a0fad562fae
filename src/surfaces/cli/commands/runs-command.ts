import type { RunRow, Status } from '../../../index.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { storePath, withTroupe } from '../open-troupe.ts'
import { runsTable } from '../render/runs-table.ts'
import { withProgramName } from '../render/styled-line.ts'

const MAX_PAGE = 1000

export function runsCommand(cli: Cli<{ status?: Status[]; tag?: string[]; number?: number }>): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { status, tag: tags, number = 20 } = cli.options
    const filter = { ...(status ? { status } : undefined), ...(tags ? { tags } : undefined) }
    const rows: (RunRow & { is_running: boolean })[] = []
    for await (const row of troupe.runs({ limit: Math.min(number, MAX_PAGE), ...filter })) {
      rows.push({ ...row, is_running: troupe.isRunning(row) })
      if (rows.length === number) break
    }
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
