import type { AccountKey, AccountSum } from '../../entries/inspect.ts'
import type { Event, GateRow, Troupe } from '../../index.ts'
import type * as z from '../../schema/zod.ts'
import type { PanelBlock } from '../../views/panel.ts'
import type * as schemas from './openapi/response-schemas.ts'

/*
 * The types that the HTTP API and the page share. Paths are under `/api`. What the schemas of the responses say in full is inferred from them;
 * what a library type says more exactly, such as events and blocks, is that type.
 */

export type Scope = PageSession['scopes'][number]

/** `GET /api/session`: who the caller is. `POST` with a bearer token sets the cookie of a page. */
export type PageSession = z.output<typeof schemas.pageSession>

/** A row of the list of runs. The row itself is stored; the rest is computed from the journal. */
export type RunItem = z.output<typeof schemas.runItem>

/** `GET /api/runs?status=&pattern=&tag=&text=&cursor=&limit=`, newest first. */
export type RunPage = z.output<typeof schemas.runPage>

/** `GET /api/runs/summaries?ids=a,b,c`: what only the journal tells, for the rows in view. */
export type { RunSummary } from '../../entries/inspect.ts'

/** `GET /api/inbox`: open questions, oldest first. */
export interface InboxItem extends Omit<GateRow, 'project'> {
  run: { run_id: string; title: string; pattern: string }
  /** Binds the answer to what was shown: the hash of question, choices and detail. */
  hash: string
  /**
   * Everything that is needed to decide: the whole call, a diff, where the agent is from, what happened before. A block with `rest` is only
   * its beginning: nobody should approve before its rest was shown, too.
   */
  blocks: PanelBlock[]
}

/** `GET /api/gates/:gate_id/blocks/:block?from=N&hash=H`: the rest of a long block, part by part. 409 `question_changed` for another hash. */
export type { QuestionPart } from '../../views/question-parts.ts'

/** `GET /api/runs/:run_id/events?after=SEQ&limit=N` as JSON. */
export interface EventPage {
  events: Event[]
  /** Ask again with `after` of this; `null` after the last event. */
  next: number | null
}

/** `GET /api/runs/:run_id/artifacts`. The content is at `/api/runs/:run_id/artifacts/:name?version=N`, as an attachment. */
export type ArtifactItem = z.output<typeof schemas.artifactItem>

/** `GET /api/runs/:run_id/artifacts/:name/preview?version=N`: the first 200 KB, as text. */
export type ArtifactPreview = z.output<typeof schemas.artifactPreview>

/** `GET /api/cost?run_id=&by=agent&since=MS`. `GET /api/reports?pattern=&by=&since=MS` gives `Report[]` of the library. */
export interface CostPage {
  by: AccountKey
  groups: AccountSum[]
  total: AccountSum
  /** Models without a known price. */
  unpriced_models: string[]
}

/** `GET /api/runs/:run_id/detail?kind=call&id=KEY`: whatever is selected. */
/** `GET /api/runs/:run_id/panels?seq=N`: the pages that the pattern brings, at an event or now. */
export type { Detail } from '../../views/detail/detail.ts'
export type PanelPage = Awaited<ReturnType<Troupe['panels']>>

/** All errors: `{ "error": … }` with a status of 4xx or 5xx, without paths or stacks. */
export type ErrorBody = z.output<typeof schemas.errorBody>
