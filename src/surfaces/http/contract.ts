import type { AccountKey, AccountSum, ArtifactSummary, Event, GateRow, PanelBlock, RunRow } from '../../index.ts'

/* The types that the HTTP API and the page share. Paths are under `/api`. */

export type Scope = 'read' | 'run' | 'approve'

/** `GET /api/session`: who the caller is. `POST` with a bearer token sets the cookie of a page. */
export interface PageSession {
  principal: string
  scopes: Scope[]
  project: string
  version: string
  /** The half of the session that only the page has: sent back as `x-troupe-csrf` with every request that is authenticated by the cookie. */
  csrf: string
  /** Patterns that can be started from here, with the JSON Schema of their input. */
  patterns: { name: string; description: string; input: unknown; steer: boolean }[]
}

/** A row of the list of runs. The row itself is stored; the rest is computed from the journal. */
export interface RunItem extends Omit<RunRow, 'owner' | 'lease_until' | 'epoch' | 'project'> {
  /** A live process executes it. */
  running: boolean
  usd: number | null
}

/** `GET /api/runs?status=&pattern=&tag=&text=&cursor=&limit=`, newest first. */
export interface RunPage {
  runs: RunItem[]
  cursor: string | null
  /** Runs of the project by status. */
  counts: Record<string, number>
}

/** `GET /api/runs/summaries?ids=a,b,c`: what only the journal tells, for the rows in view. */
export type { RunSummary } from '../../index.ts'

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

/** `POST /api/gates/:gate_id/answer` → `{ run_id }`. 409 `gate_answered` if someone was faster, `question_changed` for another hash. */
export interface AnswerBody {
  answer: unknown
  hash: string
}

/** `POST /api/patterns/:pattern/runs` → `{ run_id }`. */
export interface StartBody {
  input: unknown
  tags?: string[]
}

/*
 * `POST /api/runs/:run_id/cancel` (`{ reason? }`), `/resume` (`{ force? }`) → `RunItem`; `/fork` (`{ seq }`) → `{ run_id }`; `/steer` (a
 * `SteerAction`, such as `{ do: 'say', text }`) → `{ answered_gate }`.
 */

/** `GET /api/runs/:run_id/events?after=SEQ&limit=N` as JSON. */
export interface EventPage {
  events: Event[]
  /** Ask again with `after` of this; `null` after the last event. */
  next: number | null
}

/** `GET /api/runs/:run_id/artifacts`. The content is at `/api/runs/:run_id/artifacts/:name?version=N`, as an attachment. */
export type ArtifactItem = Omit<ArtifactSummary, 'project'>

/** `GET /api/runs/:run_id/artifacts/:name/preview?version=N`: the first 200 KB, as text. */
export interface ArtifactPreview extends ArtifactItem {
  text: string
  is_cut: boolean
}

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
export type { Detail, RunPanels as PanelPage } from '../../index.ts'

/** All errors: `{ "error": … }` with a status of 4xx or 5xx, without paths or stacks. */
export interface ErrorBody {
  error: { code: string; message: string; hint?: string }
}
