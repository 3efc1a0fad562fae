import type { RunRow, Troupe } from '../../../index.ts'
import type { RunItem } from '../contract.ts'

/** A run as clients see it: without the lease, which names processes of the machine. */
export function runItemFrom(troupe: Troupe, row: RunRow): RunItem {
  const { owner: _owner, lease_until: _until, epoch: _epoch, project: _project, ...shown } = row
  return { ...shown, tags: [...row.tags], running: troupe.isRunning(row), usd: row.usage.usd }
}
