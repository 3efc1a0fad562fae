import type { NeedsReport } from '../../entries/inspect.ts'
import type { RunRow, Troupe } from '../../index.ts'

/**
 * The parts that `answer` and `resume` would lack to continue a run that waits or was interrupted; `undefined` for any other run.
 * Commands that only read have no workspace, but those two do.
 */
export async function readMissingParts(troupe: Troupe, row: RunRow): Promise<NeedsReport | undefined> {
  if (row.ended_at !== null || troupe.isRunning(row)) return undefined
  const report = await troupe.checkNeeds(row.run_id)
  return { ...report, missing: report.missing.filter(({ kind }) => kind !== 'workspace') }
}
