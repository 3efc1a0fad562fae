import type { SessionRow } from '../../../index.ts'
import { formatAge } from '../../../views/format-amount.ts'
import { toTerminalLine } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { storePath, withTroupe } from '../open-troupe.ts'
import { STATUS_GLYPHS } from '../render/status-glyphs.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import { withProgramName } from '../render/styled-line.ts'
import type { Column } from '../render/table.ts'
import { renderTable } from '../render/table.ts'

const MAX_PAGE = 1000

/** Lists sessions with the ids that `run task --continue` takes. */
export function sessionsCommand(cli: Cli<{ run?: string; agent?: string; number?: number }>): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { run, agent, number = 20 } = cli.options
    const filter = run === undefined ? {} : { run_id: (await findRun(cli, troupe, run)).run_id }
    const rows: SessionRow[] = []
    for await (const row of troupe.sessions({ limit: Math.min(number, MAX_PAGE), ...filter })) {
      if (agent !== undefined && row.agent !== agent) continue
      rows.push(row)
      if (rows.length === number) break
    }
    const { out, err } = cli.terminal
    if (cli.options.json) printJson(cli, rows)
    else if (rows.length > 0) for (const line of sessionsTable(rows, Date.now(), out)) cli.terminal.print(line)
    else {
      const which = [run === undefined ? '' : ` of ${run}`, agent === undefined ? '' : ` of the agent ${agent}`].join(
        '',
      )
      const start = withProgramName(err, 'troupe run task "…"')
      cli.terminal.note(
        which === '' ? `no sessions in ${storePath(cli)}; start one with: ${start}` : `no sessions${which}`,
      )
    }
    return EXIT.done
  })
}

/** Ids are never shortened: they are copied into `--continue`. */
function sessionsTable(rows: readonly SessionRow[], now: number, style: TerminalStyle): string[] {
  const columns: Column<SessionRow>[] = [
    { title: 'session', text: (row) => row.session_id },
    { title: 'agent', text: (row) => toTerminalLine(row.agent), dropBelow: 2 },
    { title: 'run', text: (row) => row.run_id },
    { title: 'turns', text: (row) => String(row.turn_count), align: 'right' },
    { title: 'state', text: (row) => row.status, textStyle: (row) => STATUS_GLYPHS[row.status]?.[0] },
    { title: 'age', text: (row) => formatAge(now - row.opened_at), align: 'right', dropBelow: 2 },
    { title: 'last answer', text: (row) => toTerminalLine(row.text), flexible: true, dropBelow: 12 },
  ]
  return renderTable(rows, columns, style)
}
