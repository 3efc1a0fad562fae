import type { InboxItem, PanelPage, RunItem, RunPage, RunSummary } from '../../src/surfaces/http/contract.ts'
import type { TimelineChanges } from '../../src/views/timeline/timeline.ts'
import type { ApiClient } from './api-client.ts'
import type { LiveStream } from './live-stream.ts'
import { createLiveStream } from './live-stream.ts'
import type { ChangeListener, Commands, Connection, DataSource, RunQuery, TimelineListener } from './source.ts'
import type { StreamLink } from './stream-leader.ts'
import { LISTS } from './stream-leader.ts'

/** Data from the API of the server. */
export function createHttpSource(api: ApiClient): DataSource {
  const run = (runId: string) => `/api/runs/${encodeURIComponent(runId)}`
  const stream = createLiveStream({ open: (path, signal) => api.stream(path, signal) })
  return {
    session: () => api.signIn(null),
    runs: (query) => api.get<RunPage>(`/api/runs${queryOf(runParameters(query))}`),
    run: (runId) => api.get<RunItem>(run(runId)),
    summaries: (ids) => api.get<RunSummary[]>(`/api/runs/summaries${queryOf({ ids: ids.join(',') })}`),
    inbox: () => api.get<InboxItem[]>('/api/inbox'),
    questionPart: (gateId, { block, from, hash }) =>
      api.get(`/api/gates/${encodeURIComponent(gateId)}/blocks/${block}${queryOf({ from, hash })}`),
    watchTimeline: (runId, listener) => watchTimeline(stream, runId, listener),
    watchChanges: (listener) => watchChanges(stream, listener),
    detail: (runId, { kind, id }, seq) => api.get(`${run(runId)}/detail${queryOf({ kind, id, seq })}`),
    panels: (runId, seq) => api.get<PanelPage>(`${run(runId)}/panels${queryOf({ seq })}`),
    events: (runId, { after, limit }) => api.get(`${run(runId)}/events${queryOf({ after, limit })}`),
    artifacts: (runId) => api.get(`${run(runId)}/artifacts`),
    artifactPreview: (runId, { name, version }) =>
      api.get(`${run(runId)}/artifacts/${encodeURIComponent(name)}/preview${queryOf({ version })}`),
    artifactContent: (runId, { name, version }) =>
      api.blob(`${run(runId)}/artifacts/${encodeURIComponent(name)}${queryOf({ version })}`),
    reports: () => api.get('/api/reports'),
    cost: (by) => api.get(`/api/cost${queryOf({ by })}`),
    commands: createCommands(api, run),
  }
}

function createCommands(api: ApiClient, run: (runId: string) => string): Commands {
  return {
    start: (pattern, input, { tags }) =>
      api.post(`/api/patterns/${encodeURIComponent(pattern)}/runs`, {
        input,
        ...(tags && tags.length > 0 ? { tags } : undefined),
      }),
    cancel: (runId) => api.post(`${run(runId)}/cancel`, {}),
    resume: (runId) => api.post(`${run(runId)}/resume`, {}),
    fork: (runId, seq) => api.post(`${run(runId)}/fork`, { seq }),
    steer: (runId, action) => api.post(`${run(runId)}/steer`, action),
    answer: (gateId, answer, hash) => api.post(`/api/gates/${encodeURIComponent(gateId)}/answer`, { answer, hash }),
  }
}

function runParameters({
  status,
  pattern,
  tags,
  text,
  cursor,
  limit,
}: RunQuery): Record<string, string | number | undefined> {
  return {
    status: status === undefined || status.length === 0 ? undefined : status.join(','),
    pattern,
    tag: tags === undefined || tags.length === 0 ? undefined : tags.join(','),
    text: text || undefined,
    cursor: cursor ?? undefined,
    limit,
  }
}

function queryOf(parameters: Record<string, string | number | undefined>): string {
  const entries = Object.entries(parameters).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encodeURIComponent(value)}`],
  )
  return entries.length === 0 ? '' : `?${entries.join('&')}`
}

function watchTimeline(stream: LiveStream, runId: string, listener: TimelineListener): () => void {
  return stream.watch(runId, {
    onLink: (link) => listener.onState?.(connectionFrom(link)),
    onEvent({ event, data }) {
      if (event === 'snapshot') {
        const { seq, timeline } = JSON.parse(data)
        listener.onSnapshot(seq, timeline)
      } else if (event === 'changes') listener.onChanges(JSON.parse(data) as TimelineChanges)
      else if (event === 'panels') listener.onPanels?.(JSON.parse(data).seq)
      else if (event === 'gone') listener.onGone?.()
    },
  })
}

function watchChanges(stream: LiveStream, listener: ChangeListener): () => void {
  let isFirst = true
  return stream.watch(LISTS, {
    onLink(link) {
      listener.onState(connectionFrom(link))
      if (link.state !== 'open' || (link.isContinued && !isFirst)) return
      isFirst = false
      // Whatever changed before the stream was open is not told by it.
      listener.onRuns(null)
      listener.onInbox(null)
    },
    onEvent({ event, data }) {
      if (event === 'runs') listener.onRuns(JSON.parse(data).run_ids ?? null)
      else if (event === 'inbox') listener.onInbox(JSON.parse(data).open ?? null)
    },
  })
}

function connectionFrom(link: StreamLink): Connection {
  if (link.state === 'open') return { state: 'live' }
  if (link.state === 'refused') return { state: 'signed_out' }
  return { state: 'connecting', since: link.since, retry_at: link.retry_at }
}
