import type { ErrorRecord } from '../errors.ts'
import type { Event, ForkedFrom, Status, StopReason } from '../kernel/event.ts'
import type { Spend } from '../kernel/spend.ts'
import { addSpend, NO_SPEND } from '../kernel/spend.ts'
import { foldRun } from '../run-model/reduce-run.ts'
import type { RunModel } from '../run-model/run-model.ts'
import type { JournalDifference } from './journal-diff.ts'
import { canonicalEvents, diffJournals } from './journal-diff.ts'

/** The result of comparing two journals: the first difference, and the usage of both runs. */
export interface RunComparison {
  same: boolean
  runs: [ComparedRun, ComparedRun]
  /** The difference between the two `run:start` events (input, model, limits); `null` if there is none. */
  start: JournalDifference | null
  /** The first event after `run:start` that differs, in the order of the first run. */
  divergence: JournalDifference | null
  /** The number of events that differ. */
  differences: number
  /** The number of events that are the same in both. */
  shared: number
  agents: AgentComparison[]
}

export interface ComparedRun {
  run_id: string
  pattern: string
  status: Status
  stop_reason: StopReason | null
  output: unknown
  error: ErrorRecord | null
  forked_from: ForkedFrom | null
  usage: RunUsage
}

export interface RunUsage {
  sessions: number
  calls: number
  input: number
  output: number
  /** `null` if a price is unknown. */
  usd: number | null
  ms: number
}

export interface AgentComparison {
  agent: string
  usage: [RunUsage, RunUsage]
}

export function compareRuns(a: readonly Event[], b: readonly Event[]): RunComparison {
  const [before, after] = [canonicalEvents(a), canonicalEvents(b)]
  const differences = diffJournals(before, after)
  const changed = differences.filter(({ seq }) => seq[0] !== null).length
  const models = [foldRun(a), foldRun(b)] as const
  const agents = [...new Set(models.flatMap(({ index }) => [...index.agents.keys()]))]
  return {
    same: differences.length === 0,
    runs: [comparedRunFrom(a, models[0]), comparedRunFrom(b, models[1])],
    start: differences.find(({ type }) => type === 'run:start') ?? null,
    divergence: firstDivergence(differences.filter(({ type }) => type !== 'run:start')),
    differences: differences.length,
    shared: before.length - changed,
    agents: agents.map((agent) => ({
      agent,
      usage: [usageFrom(a, models[0], agent), usageFrom(b, models[1], agent)],
    })),
  }
}

/**
 * Returns the earlier of the first changed and the first added event: `diffJournals` lists events of the second journal
 * last. Up to the divergence the two journals number their events almost alike, so `seq` values can be compared.
 */
function firstDivergence(differences: readonly JournalDifference[]): JournalDifference | null {
  const position = ({ seq }: JournalDifference) => seq[0] ?? seq[1] ?? 0
  const [first] = differences
  const added = differences.find(({ seq }) => seq[0] === null)
  if (!first || !added) return first ?? null
  return position(added) < position(first) ? added : first
}

function comparedRunFrom(events: readonly Event[], model: RunModel): ComparedRun {
  const { start, end, run } = model
  return {
    run_id: run.id,
    pattern: run.pattern,
    status: end?.status ?? (run.status === 'waiting' ? 'waiting' : 'pending'),
    stop_reason: end?.stop_reason ?? null,
    output: end?.output ?? null,
    error: end?.error ?? null,
    forked_from: start?.forked_from ?? null,
    usage: { ...usageFrom(events, model), ms: (events.at(-1)?.at ?? 0) - (events[0]?.at ?? 0) },
  }
}

/** The usage of a run or of one of its agents. `ms` adds up the time each session was at work, even when sessions overlap. */
function usageFrom(events: readonly Event[], { sessions, tables }: RunModel, agent?: string): RunUsage {
  const isOwn = (id: string | undefined) => agent === undefined || sessions.get(id ?? '')?.agent === agent
  const { calls, input, output, usd } = events
    .filter(({ session_id }) => isOwn(session_id))
    .reduce<Spend>(addSpend, NO_SPEND)
  const rows = tables.sessions.filter(({ session_id }) => isOwn(session_id))
  const ms = rows.reduce((sum, { started_at, ended_at }) => sum + (ended_at ?? started_at) - started_at, 0)
  return { sessions: new Set(rows.map(({ session_id }) => session_id)).size, calls, input, output, usd, ms }
}
