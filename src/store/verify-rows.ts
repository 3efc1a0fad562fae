import type { Event } from '../kernel/event.ts'
import { isRecord } from '../schema/json-value.ts'
import type { ArtifactRow, GateRow, RunRow, SessionRow, Store, StoreProblem } from './store.ts'

/** A run with its whole journal. */
export interface StoredRun {
  row: RunRow
  events: readonly Event[]
}

/**
 * Compares the rows of a run, of its sessions, gates and artifacts with those that its journal gives in `empty`, a store without runs, which is
 * empty again afterwards. Every difference is damage. A journal with gaps gives no rows: the result is empty.
 */
export async function verifyRows(store: Store, empty: Store, { row, events }: StoredRun): Promise<StoreProblem[]> {
  const [start, ...rest] = events
  if (!start || events.some(({ seq }, index) => seq !== index + 1)) return []
  const { run_id } = row
  const lease = await empty.createRun(start, { owner: 'verify', ttl_ms: 1 })
  try {
    const { project, epoch } = lease
    const [outcome] = await empty.append([{ run_id, project, epoch, events: rest, sync: 'normal' }])
    if (outcome && !outcome.ok) return [{ rule: 'row', run_id, message: `run ${run_id}: ${outcome.error.message}` }]
    const scope = { run_id, expected: empty, store }
    return [
      ...differences(`run ${run_id}`, runFields(row), runFields(await empty.run(run_id))),
      ...(await sessionProblems(scope, project)),
      ...(await gateProblems(scope)),
      ...(await artifactProblems(scope)),
    ].map((message) => ({ rule: 'row', run_id, message }))
  } finally {
    await empty.release(lease)
    await empty.deleteRuns([run_id])
  }
}

interface RowScope {
  run_id: string
  /** Has this run only. */
  expected: Store
  store: Store
}

function runFields(row: RunRow | undefined): object | undefined {
  if (!row) return undefined
  const { epoch: _epoch, owner: _owner, lease_until: _lease, ...fields } = row
  return fields
}

async function sessionProblems({ run_id, expected, store }: RowScope, project: string): Promise<string[]> {
  const wanted = await expected.sessions({ project, run_id })
  const found = new Set((await store.sessions({ project, run_id })).map(({ session_id }) => session_id))
  const byId = new Map(wanted.map((session) => [session.session_id, session]))
  return entryProblems(`run ${run_id}: session`, { wanted: byId, found }, async (session, name) => {
    const { session_id } = session
    const row = await store.session(session_id)
    const segments = await store.segments(session_id)
    const inRun = segments.filter((segment) => segment.run_id === run_id)
    const isOwn = inRun.length === segments.length
    return [
      // A session may have gone on in another run, whose events are newer.
      ...(row?.run_id === run_id ? differences(name, sessionFields(row, isOwn), sessionFields(session, isOwn)) : []),
      ...differences(name, { segments: inRun }, { segments: await expected.segments(session_id) }),
    ]
  })
}

/** What lacks an entry that the journal gives, has one that it does not give, or has another one. */
async function entryProblems<Entry>(
  kind: string,
  { wanted, found }: { wanted: ReadonlyMap<string, Entry>; found: ReadonlySet<string> },
  compare: (entry: Entry, name: string) => Promise<string[]>,
): Promise<string[]> {
  const problems: string[] = []
  for (const [key, entry] of wanted) {
    const name = `${kind} ${key}`
    problems.push(...(found.has(key) ? await compare(entry, name) : [`${name} is missing`]))
  }
  const foreign = [...found].filter((key) => !wanted.has(key))
  return [...problems, ...foreign.map((key) => `${kind} ${key} is not in its journal`)]
}

/** Earlier segments, in other runs, give the time of the opening, and the text and usage until this one has ended. */
function sessionFields(row: SessionRow, isOwn: boolean): object {
  const { holder: _holder, opened_at, text, turn_count, usage, ...fields } = row
  return {
    ...fields,
    ...(isOwn && { opened_at }),
    ...((isOwn || row.ended_at !== null) && { text, turn_count, usage }),
  }
}

async function gateProblems({ run_id, expected, store }: RowScope): Promise<string[]> {
  const byId = (gates: readonly GateRow[]) => gates.map(({ gate_id }) => gate_id).sort()
  const [open, wanted] = [await store.openGates({ run_id }), await expected.openGates({ run_id })]
  return differences(`run ${run_id}`, { 'open gates': byId(open) }, { 'open gates': byId(wanted) })
}

async function artifactProblems({ run_id, expected, store }: RowScope): Promise<string[]> {
  const key = ({ name, version }: Pick<ArtifactRow, 'name' | 'version'>) => `${name} v${version}`
  const wanted = new Map((await expected.artifacts(run_id)).map((artifact) => [key(artifact), artifact]))
  const found = new Set((await store.artifacts(run_id)).map(key))
  return entryProblems(`run ${run_id}: artifact`, { wanted, found }, async ({ name, version }, label) => {
    const [row, own] = [await store.artifact(run_id, name, version), await expected.artifact(run_id, name, version)]
    return differences(label, { ...row }, { ...own })
  })
}

/** One message per field of the row that differs. */
function differences(name: string, row: object | undefined, journal: object | undefined): string[] {
  const [found, wanted] = [row ?? {}, journal ?? {}] as [Record<string, unknown>, Record<string, unknown>]
  return [...new Set([...Object.keys(found), ...Object.keys(wanted)])].flatMap((field) => {
    const [stored, given] = [toText(found[field]), toText(wanted[field])]
    return stored === given ? [] : [`${name}: \`${field}\` is ${shorten(stored)}, its journal gives ${shorten(given)}`]
  })
}

/** JSON with sorted fields. */
function toText(value: unknown): string {
  const sorted = (_key: string, part: unknown) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part
  return JSON.stringify(value, sorted) ?? 'missing'
}

const MAX_SHOWN = 120

function shorten(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`
}
