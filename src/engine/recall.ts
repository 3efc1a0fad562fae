import type { Recalled, RecallQuery } from '../kernel/context.ts'
import { isEvent } from '../kernel/event.ts'
import type { Store } from '../store/store.ts'

const MOST = 1000

/** Completed runs of a pattern with what was asked and what came of it, the newest first. */
export async function recalled(store: Store, project: string, query: RecallQuery): Promise<Recalled[]> {
  const { pattern, run_id, limit = MOST } = query
  const rows =
    run_id === undefined
      ? await store.runs({ project, pattern, status: ['completed'], limit: Math.min(limit, MOST) })
      : [await store.run(run_id)].filter((row) => row?.project === project && row.pattern === pattern)
  const found: Recalled[] = []
  for (const row of rows) {
    if (row?.status !== 'completed') continue
    const [first] = await store.events(row.run_id, { limit: 1 })
    const [last] = await store.events(row.run_id, { after: row.head - 1 })
    if (!isEvent(first, 'run:start') || !isEvent(last, 'run:end')) continue
    found.push({ run_id: row.run_id, input: first.data.input, output: last.data.output })
  }
  return found
}
