import type {
  ArtifactItem,
  ArtifactPreview,
  CostPage,
  Detail,
  InboxItem,
  PageSession,
  PanelPage,
  QuestionPart,
  RunItem,
  RunPage,
  RunSummary,
} from '../../src/surfaces/http/contract.ts'
import type { PanelBlock } from '../../src/views/panel.ts'
import type { Timeline, TimelineChanges, TimelineRef } from '../../src/views/timeline/timeline.ts'

/*
 * Where the page has its data from. There are two implementations: the HTTP API, and the data inside a one-file export. The page does not
 * interpret events: it asks for rows, summaries and panels.
 */

/** `since` is set while there is no connection: the time of the last sign of life, in milliseconds since 1970. */
export type Connection =
  | { state: 'live' }
  | { state: 'connecting'; since: number | null; retry_at: number | null }
  | { state: 'static'; exported_at: number }
  | { state: 'signed_out' }

export interface RunQuery {
  status?: readonly string[]
  pattern?: string
  tags?: readonly string[]
  text?: string
  cursor?: string | null
  limit?: number
}

export interface EventPage {
  events: readonly unknown[]
  /** The seq to ask after for the next page; `null` at the end. */
  next: number | null
}

export interface TimelineListener {
  onSnapshot(seq: number, timeline: Timeline): void
  onChanges(changes: TimelineChanges): void
  /** The panels of the pattern changed; ask for them again. */
  onPanels?(seq: number): void
  onState?(connection: Connection): void
  /** The run was deleted while it was watched. */
  onGone?(): void
  /** The run is unknown, or the store cannot be read; asking again does not help. */
  onError?(error: SourceError): void
}

export interface ChangeListener {
  /** Runs that changed, or `null` after a reconnect: everything may have changed. */
  onRuns(runIds: readonly string[] | null): void
  onInbox(open: number | null): void
  onState(connection: Connection): void
}

/** An action of `troupe.steer`. */
export type SteerRequest =
  | { do: 'pause' | 'step' | 'continue'; path?: string }
  | { do: 'override'; agent: string; path?: string }
  | { do: 'set'; name: string; value: number | string | boolean; path?: string }
  | { do: 'say'; text: string; path?: string }

/** What changes something. An export has none. */
export interface Commands {
  start(pattern: string, input: unknown, options: { tags?: readonly string[] }): Promise<{ run_id: string }>
  cancel(runId: string): Promise<void>
  resume(runId: string): Promise<void>
  fork(runId: string, seq: number): Promise<{ run_id: string }>
  steer(runId: string, request: SteerRequest): Promise<void>
  answer(gateId: string, answer: unknown, hash: string): Promise<void>
}

export type CostGrouping = 'pattern' | 'model' | 'agent' | 'day'

export interface DataSource {
  session(): Promise<PageSession>
  runs(query: RunQuery): Promise<RunPage>
  run(runId: string): Promise<RunItem>
  summaries(runIds: readonly string[]): Promise<RunSummary[]>
  inbox(): Promise<InboxItem[]>
  /** The rest of a long block of a question, from a character on. */
  questionPart(gateId: string, place: { block: number; from: number; hash: string }): Promise<QuestionPart>
  /** Both return a function that stops it. */
  watchTimeline(runId: string, listener: TimelineListener): () => void
  watchChanges(listener: ChangeListener): () => void
  /** Whatever is selected, as it is known at `seq`. */
  detail(runId: string, ref: TimelineRef, seq?: number): Promise<Detail>
  panels(runId: string, seq?: number): Promise<PanelPage>
  events(runId: string, page: { after?: number; limit?: number }): Promise<EventPage>
  artifacts(runId: string): Promise<ArtifactItem[]>
  /** The beginning of the content as text. */
  artifactPreview(runId: string, artifact: { name: string; version: number }): Promise<ArtifactPreview>
  /** The whole content, for a download; absent in an export. */
  artifactContent?(runId: string, artifact: { name: string; version: number }): Promise<Blob>
  reports(): Promise<Report[]>
  /** Usage and cost of all runs; an export has only its own. */
  cost?(by: CostGrouping): Promise<CostPage>
  commands: Commands | null
}

/** The figures of a pattern over all its runs, by group. */
export interface Report {
  pattern: string
  by: string
  columns: readonly { name: string; title: string; unit: string }[]
  groups: readonly ReportGroup[]
  total: ReportGroup
  notes: readonly string[]
  /** Further parts, such as a heat map. */
  blocks?: readonly PanelBlock[]
}

export interface ReportGroup {
  group: string
  figures: Readonly<Record<string, number | null>>
}

/** An answer of the server that is not a success. */
export class SourceError extends Error {
  readonly status: number
  readonly code: string
  readonly hint: string | undefined
  constructor(status: number, problem: { code: string; message: string; hint?: string | undefined }) {
    super(problem.message)
    this.name = 'SourceError'
    this.status = status
    this.code = problem.code
    this.hint = problem.hint
  }
}
