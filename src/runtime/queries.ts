import { copyJson } from '../engine/copy-json.ts'
import type { ErrorRecord } from '../errors.ts'
import { TroupeError, unknownNameError } from '../errors.ts'
import type { Event, Status } from '../kernel/event.ts'
import type { Row, TableQuery } from '../kernel/table-query.ts'
import type { AccountRow } from '../run-model/accounts.ts'
import { unknownSessionError } from '../store/preconditions.ts'
import type { ArtifactRow, GateRow, RowPosition, RunRow, SessionRow, Store } from '../store/store.ts'
import { selectColumns } from '../store/tables/checked-query.ts'
import type { AccountQuery } from './account-query.ts'
import type { PagedQuery, PageRequest } from './paged-query.ts'
import { pagedQuery } from './paged-query.ts'
import { checkAfter, requireGate, requireRun } from './run-lookup.ts'
import type { VerifyReport } from './verify-store.ts'

export interface RunQuery extends PageRequest {
  status?: readonly Status[]
  pattern?: string
  /** Runs that have all of these tags. */
  tags?: readonly string[]
  /**
   * Runs that have all of these words: at most 8, found by their beginning, of the title, tags, id, pattern, the names of agents and the texts
   * of sessions.
   */
  text?: string
}

export interface SessionQuery extends PageRequest {
  /** Sessions that worked in this run. */
  run_id?: string
}

export interface EventQuery extends PageRequest {
  /** Events with a greater seq. */
  after?: number
  session_id?: string
}

export interface GateQuery extends PageRequest {
  run_id?: string
}

/** An artifact without its content. */
export type ArtifactSummary = Omit<ArtifactRow, 'content'>

export interface StoreStatus {
  /** A path, an address, or `memory`. */
  location: string
  /** Set if the newest commits are gone, such as with a write-ahead log that was not copied: the store is only read until `acceptLoss`. */
  loss: ErrorRecord | null
  /** Set while the store is only read because it came from elsewhere: this installation has not created it, and nobody named or trusted it. */
  not_yours: ErrorRecord | null
}

/** Care for the store as a whole. */
export interface StoreCare {
  /** The reason why the store cannot be written. Reads no journal: `verify` looks for damage. */
  storeStatus(): StoreStatus
  /**
   * Checks every journal with all that is derived from it, or one run: sequence and hash chain of the events, long values, rows of runs,
   * sessions, questions and artifacts, words for search, forks, commands. Executes nothing and changes nothing.
   */
  verify(run_id?: string): Promise<VerifyReport>
  /** Lets whoever opens the store next go on with what is left of it, if its write-ahead log was lost; until then it is only read. */
  acceptLoss(): Promise<void>
  /** Copies the store to a new file, also while it is in use; open it with `store`. */
  backUpStore(file: string): Promise<void>
}

/** Reading what is stored, always within one project. */
export interface Queries extends StoreCare {
  /** Newest first. */
  runs(query?: RunQuery): PagedQuery<RunRow>
  /** The runs of the project by status. */
  countRuns(): Promise<Record<Status, number>>
  /** Newest first. */
  sessions(query?: SessionQuery): PagedQuery<SessionRow>
  /** The journal of a run, in order. */
  events(run_id: string, query?: EventQuery): PagedQuery<Event>
  /** The inbox: open questions to people, oldest first. */
  gates(query?: GateQuery): PagedQuery<GateRow>
  /** Every version of every artifact of a run, oldest first. */
  artifacts(run_id: string, query?: PageRequest): PagedQuery<ArtifactSummary>
  /** The model requests of the project with their usage and cost, newest run first; `sumAccountsBy` adds them up. */
  accounts(query: AccountQuery): AsyncIterable<AccountRow>
  /** Rows of a table that a pattern declares (`PatternDefinition.projection`), of all runs of the project. */
  query(query: TableQuery & PageRequest): PagedQuery<Row>
  getRun(run_id: string): Promise<RunRow>
  getSession(session_id: string): Promise<SessionRow>
  /** A gate, open or answered. */
  getGate(gate_id: string): Promise<GateRow>
  /** An artifact with its content; without `version` the newest. */
  getArtifact(run_id: string, name: string, version?: number): Promise<ArtifactRow>
}

function noBackupError({ location }: Store): TroupeError {
  return new TroupeError('invalid_input', `the option \`store\` is ${location}, which cannot be copied to a file`, {
    hint: 'use a `store` in a folder or a database file',
  })
}

/** `prepareTables` creates the tables of the patterns, which takes the patterns to be loaded. */
export function createQueries(store: Store, project: string, prepareTables: () => Promise<void>): Queries {
  const scope = { store, project }
  return {
    runs: (query) => runQuery(scope, query),
    countRuns: () => store.countRuns(project),
    sessions: (query) => sessionQuery(scope, query),
    events: (run_id, query) => eventQuery(scope, run_id, query),
    gates: (query) => gateQuery(scope, query),
    artifacts: (run_id, query) => artifactQuery(scope, run_id, query),
    async *accounts(query) {
      yield* (await import('./account-query.ts')).readAccounts(scope, query)
    },
    query: (query) => tableQuery(scope, query, prepareTables),
    getRun: async (run_id) => copyJson(await requireRun(store, project, run_id)),
    getSession: async (session_id) => copyJson(await requireSession(scope, session_id)),
    getGate: async (gate_id) => copyJson(await requireGate(store, project, gate_id)),
    getArtifact: async (run_id, name, version) => copyJson(await requireArtifact(scope, run_id, { name, version })),
    storeStatus: () => ({
      location: store.location,
      loss: store.loss?.toJSON() ?? null,
      not_yours: store.ownershipProblem?.toJSON() ?? null,
    }),
    verify: async (run_id) => (await import('./verify-store.ts')).verifyStore(store, project, run_id),
    acceptLoss: async () => {
      if (store.ownershipProblem) throw store.ownershipProblem
      await store.acceptLoss?.()
    },
    backUpStore: async (file) => {
      if (!store.backUp) throw noBackupError(store)
      await store.backUp(file)
    },
  }
}

interface QueryScope {
  store: Store
  project: string
}

function runQuery({ store, project }: QueryScope, query: RunQuery = {}): PagedQuery<RunRow> {
  const { limit: _limit, cursor: _cursor, ...filter } = query
  return pagedQuery(query, {
    list: 'runs',
    // The project comes last: a `project` in the filter, which programs may get from a request, must not replace it.
    scope: { ...filter, project },
    async read(before: unknown, limit: number) {
      checkList('status', filter.status)
      checkList('tags', filter.tags)
      checkText(filter.text)
      return store.runs({ ...filter, project, limit, ...beforeFilter(before) })
    },
    positionOf: ({ run_id }: RunRow) => run_id,
  })
}

function sessionQuery({ store, project }: QueryScope, query: SessionQuery = {}): PagedQuery<SessionRow> {
  const { limit: _limit, cursor: _cursor, ...filter } = query
  return pagedQuery(query, {
    list: 'sessions',
    scope: { ...filter, project },
    async read(before: unknown, limit: number) {
      if (filter.run_id !== undefined) await requireRun(store, project, filter.run_id)
      return store.sessions({ ...filter, project, limit, ...beforeFilter(before) })
    },
    positionOf: ({ session_id }: SessionRow) => session_id,
  })
}

function checkText(text: unknown): void {
  if (text === undefined || typeof text === 'string') return
  throw new TroupeError('invalid_input', '`text` is no string', { hint: "pass words, such as 'password reset'" })
}

function checkList(option: string, value: readonly string[] | undefined): void {
  if (value === undefined || Array.isArray(value)) return
  throw new TroupeError('invalid_input', `\`${option}\` is not a list`, { hint: `pass a list, such as ['${value}']` })
}

function beforeFilter(position: unknown): { before?: string } {
  return position === undefined ? {} : { before: String(position) }
}

function eventQuery({ store, project }: QueryScope, run_id: string, query: EventQuery = {}): PagedQuery<Event> {
  const { limit: _limit, cursor: _cursor, after = 0, ...filter } = query
  return pagedQuery(query, {
    list: 'events',
    scope: { ...filter, project, run_id },
    async read(position: unknown, limit: number) {
      checkAfter(after)
      await requireRun(store, project, run_id)
      return store.events(run_id, { ...filter, after: Math.max(after, Number(position ?? 0)), limit })
    },
    positionOf: ({ seq }: Event) => seq,
  })
}

function gateQuery({ store, project }: QueryScope, query: GateQuery = {}): PagedQuery<GateRow> {
  const filter = query.run_id === undefined ? {} : { run_id: query.run_id }
  return pagedQuery(query, {
    list: 'gates',
    scope: { project, ...filter },
    async read(position: unknown, limit: number) {
      if (filter.run_id !== undefined) await requireRun(store, project, filter.run_id)
      return store.openGates({
        project,
        ...filter,
        limit,
        ...(position === undefined ? {} : { after: String(position) }),
      })
    },
    // A gate can be answered between two pages, so its place is its own and not a number of gates.
    positionOf: ({ gate_id }: GateRow) => gate_id,
  })
}

function artifactQuery(
  { store, project }: QueryScope,
  run_id: string,
  query: PageRequest = {},
): PagedQuery<ArtifactSummary> {
  return pagedQuery(query, {
    list: 'artifacts',
    scope: { project, run_id },
    async read(position: unknown, limit: number) {
      await requireRun(store, project, run_id)
      const [name, version] = (position ?? []) as [string?, number?]
      const after = name === undefined || version === undefined ? undefined : { name, version }
      return store.artifacts(run_id, { after, limit })
    },
    positionOf: ({ name, version }: ArtifactSummary) => [name, version],
  })
}

function tableQuery(
  { store, project }: QueryScope,
  query: TableQuery & PageRequest,
  prepareTables: () => Promise<void>,
): PagedQuery<Row> {
  const { limit: _limit, cursor: _cursor, ...filter } = query
  const positions = new WeakMap<Row, RowPosition>()
  return pagedQuery(query, {
    list: 'query',
    scope: { project, ...filter },
    async read(after: unknown, limit: number) {
      await prepareTables()
      const rows = await store.queryTable({ project }, { ...filter, limit, after: after as RowPosition | undefined })
      return rows.map(({ row, position }) => {
        const selected = { ...selectColumns(row, query.columns) }
        positions.set(selected, position)
        return selected
      })
    },
    positionOf: (row: Row) => positions.get(row),
  })
}

async function requireSession({ store, project }: QueryScope, session_id: string): Promise<SessionRow> {
  const row = typeof session_id === 'string' ? await store.session(session_id) : undefined
  if (row?.project === project) return row
  throw unknownSessionError(String(session_id), await store.sessions({ project, limit: 100 }))
}

async function requireArtifact(
  { store, project }: QueryScope,
  run_id: string,
  { name, version }: { name: string; version: number | undefined },
): Promise<ArtifactRow> {
  await requireRun(store, project, run_id)
  const found = await store.artifact(run_id, name, version)
  if (found) return found
  const rows = await store.artifacts(run_id)
  const known = rows.map((row) => (version === undefined ? row.name : `${row.name}@${row.version}`))
  const wanted = version === undefined ? name : `${name}@${version}`
  throw unknownNameError('invalid_input', { kind: 'artifact', name: wanted, known: [...new Set(known)] })
}
