import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { ToolSpec } from '../kernel/model.ts'
import type { ExportArtifact } from '../views/page-export/run-export.ts'
import { runExportFrom } from '../views/page-export/run-export.ts'
import type { PoolEntry } from '../views/page-export/value-pool.ts'
import type { Queries } from './queries.ts'
import { detailOptions, eventsInEarlierRuns, readPanels } from './run-pages.ts'
import { timelineSources } from './run-timeline.ts'
import type { RuntimeParts } from './runtime-parts.ts'

interface ExportSource {
  parts: RuntimeParts
  queries: Pick<Queries, 'events' | 'artifacts' | 'getArtifact' | 'getGate'>
}

/** Reads a run for a one-file export. */
export async function exportPage({ parts, queries }: ExportSource, run_id: string): Promise<PoolEntry[]> {
  const events = await queries.events(run_id).all()
  const seq = events.at(-1)?.seq
  const { panels } = await readPanels({ parts, queries }, run_id, seq === undefined ? {} : { seq })
  const earlier = await earlierBySession(parts, events)
  const details = await detailOptions(parts)
  return runExportFrom({
    events,
    exported_at: parts.world.now(),
    panels,
    artifacts: await readArtifacts(queries, run_id),
    timeline: await timelineSources(parts),
    details: { ...details, toolSpecs: memoizedSpecs(details.toolSpecs) },
    earlier: (session_id) => earlier.get(session_id) ?? [],
  })
}

async function earlierBySession(parts: RuntimeParts, events: readonly Event[]): Promise<Map<string, Event[]>> {
  const resumed = events.filter((event) => isEvent(event, 'session:open') && event.data.base !== undefined)
  const sessions = new Set(resumed.flatMap(({ session_id }) => session_id ?? []))
  const found = new Map<string, Event[]>()
  for (const session_id of sessions) found.set(session_id, await eventsInEarlierRuns(parts, events, session_id))
  return found
}

async function readArtifacts(queries: ExportSource['queries'], run_id: string): Promise<ExportArtifact[]> {
  const summaries = await queries.artifacts(run_id).all()
  return Promise.all(
    summaries.map(async ({ project: _project, ...item }) => ({
      ...item,
      text: (await queries.getArtifact(run_id, item.name, item.version)).content,
    })),
  )
}

type Specs = (names: readonly string[]) => readonly ToolSpec[]

/** Thousands of turns have the same tools. */
function memoizedSpecs(toolSpecs: Specs = () => []): Specs {
  const known = new Map<string, readonly ToolSpec[]>()
  return (names) => {
    const key = names.join('\n')
    const specs = known.get(key) ?? toolSpecs(names)
    known.set(key, specs)
    return specs
  }
}
