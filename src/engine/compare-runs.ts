import type { ErrorRecord } from '../errors.ts'
import type { Event, ForkedFrom, RunEnd, Status, StopReason } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Spend } from '../kernel/spend.ts'
import { addSpend, NO_SPEND } from '../kernel/spend.ts'
import type { JournalDifference } from './journal-diff.ts'
import { canonicalEvents, diffJournals } from './journal-diff.ts'

/** Where two runs part, and what it changed. */
export interface RunComparison {
  same: boolean
  runs: [ComparedRun, ComparedRun]
  /** What they started with differently: input, model, limits. */
  start: JournalDifference | null
  /** The first fact after that, in the order of the first run, that the two tell differently. */
  divergence: JournalDifference | null
  /** Facts that differ, those included that follow from the first. */
  differences: number
  /** Facts that are the same in both. */
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

/** What was spent, and how long it took. */
export interface RunUsage {
  sessions: number
  calls: number
  input: number
  output: number
  /** `null` when a price is unknown. */
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
  const told = differences.filter(({ seq }) => seq[0] !== null).length
  return {
    same: differences.length === 0,
    runs: [comparedRunFrom(a), comparedRunFrom(b)],
    start: differences.find(({ type }) => type === 'run:start') ?? null,
    divergence: firstDivergence(differences.filter(({ type }) => type !== 'run:start')),
    differences: differences.length,
    shared: before.length - told,
    agents: compareAgents(a, b),
  }
}

/**
 * What only the second run tells stands behind the rest; it may have come first. Up to the parting both journals are
 * about as long, so the lower number came first.
 */
function firstDivergence(differences: readonly JournalDifference[]): JournalDifference | null {
  const at = ({ seq }: JournalDifference) => seq[0] ?? seq[1] ?? 0
  const [first] = differences
  const added = differences.find(({ seq }) => seq[0] === null)
  if (!first || !added) return first ?? null
  return at(added) < at(first) ? added : first
}

function comparedRunFrom(events: readonly Event[]): ComparedRun {
  const [start] = events
  const end = lastRunEnd(events)
  const facts = isEvent(start, 'run:start') ? start.data : undefined
  return {
    run_id: start?.run_id ?? '',
    pattern: facts?.pattern ?? '',
    status: end?.status ?? (isEvent(events.at(-1), 'run:park') ? 'waiting' : 'pending'),
    stop_reason: end?.stop_reason ?? null,
    output: end?.output ?? null,
    error: end?.error ?? null,
    forked_from: facts?.forked_from ?? null,
    usage: { ...usageFrom(events), ms: (events.at(-1)?.at ?? 0) - (start?.at ?? 0) },
  }
}

function lastRunEnd(events: readonly Event[]): RunEnd | undefined {
  const last = events.findLast((event) => isEvent(event, 'run:end') || isEvent(event, 'run:reopen'))
  return isEvent(last, 'run:end') ? last.data : undefined
}

/** What these events used; the time is that in which sessions were open, each by itself. */
function usageFrom(events: readonly Event[]): RunUsage {
  let spent: Spend = NO_SPEND
  let ms = 0
  const sessions = new Set<string>()
  const opened = new Map<string, number>()
  for (const event of events) {
    spent = addSpend(spent, event)
    if (isEvent(event, 'session:open')) {
      sessions.add(event.session_id ?? '')
      opened.set(event.data.key, event.at)
    }
    if (isEvent(event, 'session:end')) ms += event.at - (opened.get(event.data.key) ?? event.at)
  }
  const { calls, input, output, usd } = spent
  return { sessions: sessions.size, calls, input, output, usd, ms }
}

function compareAgents(a: readonly Event[], b: readonly Event[]): AgentComparison[] {
  const [before, after] = [groupByAgent(a), groupByAgent(b)]
  return [...new Set([...before.keys(), ...after.keys()])].map((agent) => ({
    agent,
    usage: [usageFrom(before.get(agent) ?? []), usageFrom(after.get(agent) ?? [])],
  }))
}

/** The events of each agent's sessions. */
function groupByAgent(events: readonly Event[]): Map<string, Event[]> {
  const agents = new Map<string, string>()
  const sorted = new Map<string, Event[]>()
  for (const event of events) {
    const id = event.session_id ?? ''
    if (isEvent(event, 'session:open')) agents.set(id, event.data.agent.name)
    const agent = agents.get(id)
    if (agent === undefined) continue
    const own = sorted.get(agent) ?? []
    own.push(event)
    sorted.set(agent, own)
  }
  return sorted
}
