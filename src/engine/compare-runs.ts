import type { ErrorRecord } from '../errors.ts'
import type { Event, ForkedFrom, RunEnd, Status, StopReason } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Spend } from '../kernel/spend.ts'
import { addSpend, NO_SPEND } from '../kernel/spend.ts'
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
  return {
    same: differences.length === 0,
    runs: [comparedRunFrom(a), comparedRunFrom(b)],
    start: differences.find(({ type }) => type === 'run:start') ?? null,
    divergence: firstDivergence(differences.filter(({ type }) => type !== 'run:start')),
    differences: differences.length,
    shared: before.length - changed,
    agents: compareAgents(a, b),
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

function comparedRunFrom(events: readonly Event[]): ComparedRun {
  const [start] = events
  const end = lastRunEnd(events)
  const startData = isEvent(start, 'run:start') ? start.data : undefined
  return {
    run_id: start?.run_id ?? '',
    pattern: startData?.pattern ?? '',
    status: end?.status ?? (isEvent(events.at(-1), 'run:park') ? 'waiting' : 'pending'),
    stop_reason: end?.stop_reason ?? null,
    output: end?.output ?? null,
    error: end?.error ?? null,
    forked_from: startData?.forked_from ?? null,
    usage: { ...usageFrom(events), ms: (events.at(-1)?.at ?? 0) - (start?.at ?? 0) },
  }
}

function lastRunEnd(events: readonly Event[]): RunEnd | undefined {
  const last = events.findLast((event) => isEvent(event, 'run:end') || isEvent(event, 'run:reopen'))
  return isEvent(last, 'run:end') ? last.data : undefined
}

/** Sums the usage of these events. `ms` adds up the time each session was open, even when sessions overlap. */
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

function groupByAgent(events: readonly Event[]): Map<string, Event[]> {
  const agents = new Map<string, string>()
  const groups = new Map<string, Event[]>()
  for (const event of events) {
    const id = event.session_id ?? ''
    if (isEvent(event, 'session:open')) agents.set(id, event.data.agent.name)
    const agent = agents.get(id)
    if (agent === undefined) continue
    const group = groups.get(agent) ?? []
    group.push(event)
    groups.set(agent, group)
  }
  return groups
}
