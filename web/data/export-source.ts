import type { Detail, PageSession, RunItem } from '../../src/surfaces/http/contract.ts'
import type { RunExport } from '../../src/views/page-export/run-export.ts'
import { valueFromPool } from '../../src/views/page-export/value-pool.ts'
import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { RunPlace } from '../shell/router.ts'
import type { DataSource } from './source.ts'
import { SourceError } from './source.ts'

/* Data from inside the page itself: a one-file export. Nothing is requested, and nothing can be changed. */

export interface ExportSource extends DataSource {
  /** The page of the run that the file is about. */
  home: RunPlace
}

/** The compressed data of an export; `null` in a page that has a server. */
export function findExport(): string | null {
  return document.getElementById('troupe-export')?.textContent ?? null
}

export async function readExport(base64: string): Promise<RunExport> {
  const bytes = Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  return valueFromPool(JSON.parse(await new Response(stream).text())) as RunExport
}

export function createExportSource(data: RunExport): ExportSource {
  const connection = { state: 'static', exported_at: data.exported_at } as const
  const own = async <Value>(runId: string, value: () => Value): Promise<Value> => {
    if (runId !== data.run_id) throw notHere('this run')
    return value()
  }
  return {
    home: { page: 'run', runId: data.run_id, tab: 'timeline', at: null, range: null, seq: null },
    session: () => Promise.resolve(readOnlySession()),
    runs: () => Promise.resolve({ runs: [runItem(data)], cursor: null, counts: {} }),
    run: (runId) => own(runId, () => runItem(data)),
    summaries: () => Promise.resolve([]),
    inbox: () => Promise.resolve([]),
    questionPart: () => Promise.reject(notHere('this question')),
    watchTimeline(runId, listener) {
      listener.onState?.(connection)
      if (runId === data.run_id) listener.onSnapshot(data.seq, data.timeline)
      else listener.onGone?.()
      return () => undefined
    },
    watchChanges(listener) {
      listener.onState(connection)
      return () => undefined
    },
    detail: (runId, ref) => own(runId, () => data.details[`${ref.kind}:${ref.id}`] ?? eventDetail(data, ref)),
    panels: (runId) => own(runId, () => ({ seq: data.seq, panels: data.panels })),
    events: (runId, { after = 0, limit = 1_000 }) =>
      own(runId, () => {
        const events = data.events.filter(({ seq }) => seq > after).slice(0, limit)
        const last = events.at(-1)?.seq ?? data.seq
        return { events, next: last < data.seq ? last : null }
      }),
    artifacts: (runId) => own(runId, () => data.artifacts),
    artifactPreview: (runId, { name, version }) =>
      own(runId, () => {
        const artifact = data.artifacts.find((item) => item.name === name && item.version === version)
        if (!artifact) throw notHere(name)
        return { ...artifact, is_cut: artifact.text.length < artifact.size }
      }),
    reports: () => Promise.resolve([]),
    commands: null,
  }
}

function readOnlySession(): PageSession {
  return { principal: '', scopes: ['read'], project: '', version: '', csrf: '', patterns: [] }
}

function notHere(name: string): SourceError {
  return new SourceError(404, { code: 'not_found', message: `${name} is not in this export` })
}

function runItem({ run_id, seq, timeline }: RunExport): RunItem {
  const [run] = timeline.run
  return {
    run_id,
    head: seq,
    title: run?.title ?? run_id,
    pattern: run?.pattern ?? '',
    status: run?.status ?? 'completed',
    tags: [...(run?.tags ?? [])],
    running: false,
    usd: run?.usd ?? null,
    // The other fields are for lists of runs and for the server that executes this one: an export shows neither.
  } as unknown as RunItem
}

/** An event is in the export as it was recorded. */
function eventDetail({ events }: RunExport, ref: TimelineRef): Detail {
  const event = ref.kind === 'event' ? events.find(({ seq }) => String(seq) === ref.id) : undefined
  if (!event) throw notHere(`${ref.kind} ${ref.id}`)
  return {
    ref,
    kind: `Event ${event.seq}`,
    title: event.type,
    from: null,
    to: null,
    state: '',
    facts: [{ label: 'at', value: event.at, unit: 'time' }],
    sections: [{ title: 'Data', blocks: [{ kind: 'json', value: event.data }] }],
    json: [event],
  }
}
