import type { NeedsReport } from '../../../entries/inspect.ts'
import type { RunQuery, RunRow, Status, Troupe } from '../../../index.ts'
import { missingPartsText } from '../../../views/needs-text.ts'
import { isPartial } from '../../../views/result-status.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { WaitingRequest } from '../../../views/waiting.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { storePath, withTroupe } from '../open-troupe.ts'
import { readMissingParts } from '../read-missing-parts.ts'
import { waitingLines } from '../render/run-header.ts'
import type { ListedRun } from '../render/runs-table.ts'
import { runsTable } from '../render/runs-table.ts'
import { withProgramName } from '../render/styled-line.ts'

const MAX_PAGE = 1000

type RunsOptions = { status?: Status[]; tag?: string[]; search?: string; number?: number }

export function runsCommand(cli: Cli<RunsOptions>): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { status, tag: tags, search: text, number = 20 } = cli.options
    const filter = {
      ...(status ? { status } : undefined),
      ...(tags ? { tags } : undefined),
      ...(text === undefined ? undefined : { text }),
    }
    const rows: (ListedRun & { missing: NeedsReport['missing']; waiting: WaitingRequest[] })[] = []
    for await (const row of troupe.runs({ limit: Math.min(number, MAX_PAGE), ...filter })) {
      const missing = (await readMissingParts(troupe, row))?.missing ?? []
      rows.push({ ...row, is_running: troupe.isRunning(row), missing, waiting: await readWaiting(troupe, row) })
      if (rows.length === number) break
    }
    if (!cli.options.json) await addProgress(troupe, rows)
    if (cli.options.json) printJson(cli, rows)
    else if (rows.length > 0) {
      for (const line of runsTable(rows, Date.now(), cli.terminal.out)) cli.terminal.print(line)
      for (const { run_id, missing, waiting } of rows) {
        noteMissingParts(cli, run_id, missing)
        noteWaiting(cli, run_id, waiting)
      }
    } else
      cli.terminal.note(
        Object.keys(filter).length > 0
          ? `no runs with ${describeFilter(filter)}`
          : `no runs in ${storePath(cli)}; start one with: ${withProgramName(cli.terminal.err, 'troupe run --help')}`,
      )
    return EXIT.done
  })
}

/** A run may be deleted while the list is read. */
async function readWaiting(troupe: Troupe, { run_id, status }: RunRow): Promise<WaitingRequest[]> {
  return status === 'running' ? troupe.waiting(run_id).catch(() => []) : []
}

function noteWaiting({ terminal }: Cli, run_id: string, waiting: readonly WaitingRequest[]): void {
  const now = Date.now()
  for (const request of waiting)
    for (const line of waitingLines(request, { now, style: terminal.err, run_id })) terminal.note(line)
}

/** Adds the share that was done, which only the journal tells. */
async function addProgress(troupe: Troupe, rows: ListedRun[]): Promise<void> {
  const partial = rows.filter(isPartial)
  if (partial.length === 0) return
  const summaries = await troupe.runSummaries(partial.map(({ run_id }) => run_id))
  for (const row of partial) row.progress = summaries.find(({ run_id }) => run_id === row.run_id)?.progress ?? null
}

function noteMissingParts({ terminal }: Cli, run_id: string, missing: NeedsReport['missing']): void {
  const text = missingPartsText({ missing, started_by: null })
  if (text !== '') for (const line of wrapText(`${run_id} ${text}`, terminal.err.width, 2)) terminal.note(line)
}

function describeFilter({ status = [], tags = [], text }: RunQuery): string {
  const parts = [
    ...(text === undefined ? [] : [`the words '${toTerminalLine(text)}'`]),
    ...(status.length > 0 ? [`status ${status.join(' or ')}`] : []),
    ...(tags.length > 0 ? [`tag ${tags.join(' and ')}`] : []),
  ]
  return parts.join(', ')
}
