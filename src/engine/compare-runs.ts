import type { ErrorRecord } from '../errors.ts'
import type { Event, ForkedFrom, RunEnd, Status, StopReason } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Spend } from '../kernel/ledger.ts'
import { NO_SPEND, spend } from '../kernel/ledger.ts'
import type { Difference } from './compare.ts'
import { canonicalEvents, differencesBetween } from './compare.ts'

/** Where two runs part, and what it changed. */
export interface RunComparison {
  same: boolean
  runs: [RunSide, RunSide]
  /** What they started with differently: input, model, limits. */
  start: Difference | null
  /** The first fact after that, in the order of the first run, that the two tell differently. */
  parting: Difference | null
  /** Facts that differ, those included that follow from the first. */
  differences: number
  /** Facts that are the same in both. */
  shared: number
  agents: AgentComparison[]
}

export interface RunSide {
  run_id: string
  pattern: string
  status: Status
  stop_reason: StopReason | null
  output: unknown
  error: ErrorRecord | null
  forked_from: ForkedFrom | null
  used: Used
}

/** What was spent, and how long it took. */
export interface Used {
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
  used: [Used, Used]
}

export function compareRuns(a: readonly Event[], b: readonly Event[]): RunComparison {
  const [before, after] = [canonicalEvents(a), canonicalEvents(b)]
  const differences = differencesBetween(before, after)
  const told = differences.filter(({ seq }) => seq[0] !== null).length
  return {
    same: differences.length === 0,
    runs: [sideOf(a), sideOf(b)],
    start: differences.find(({ type }) => type === 'run:start') ?? null,
    parting: partingOf(differences.filter(({ type }) => type !== 'run:start')),
    differences: differences.length,
    shared: before.length - told,
    agents: agentsOf(a, b),
  }
}

/**
 * What only the second run tells stands behind the rest; it may have come first. Up to the parting both journals are
 * about as long, so the lower number came first.
 */
function partingOf(differences: readonly Difference[]): Difference | null {
  const at = ({ seq }: Difference) => seq[0] ?? seq[1] ?? 0
  const [first] = differences
  const added = differences.find(({ seq }) => seq[0] === null)
  if (!first || !added) return first ?? null
  return at(added) < at(first) ? added : first
}

function sideOf(events: readonly Event[]): RunSide {
  const [start] = events
  const end = endOf(events)
  const facts = isEvent(start, 'run:start') ? start.data : undefined
  return {
    run_id: start?.run_id ?? '',
    pattern: facts?.pattern ?? '',
    status: end?.status ?? (isEvent(events.at(-1), 'run:park') ? 'waiting' : 'pending'),
    stop_reason: end?.stop_reason ?? null,
    output: end?.output ?? null,
    error: end?.error ?? null,
    forked_from: facts?.forked_from ?? null,
    used: { ...usedOf(events), ms: (events.at(-1)?.at ?? 0) - (start?.at ?? 0) },
  }
}

function endOf(events: readonly Event[]): RunEnd | undefined {
  const last = events.findLast((event) => isEvent(event, 'run:end') || isEvent(event, 'run:reopen'))
  return isEvent(last, 'run:end') ? last.data : undefined
}

/** What these events used; the time is that in which sessions were open, each by itself. */
function usedOf(events: readonly Event[]): Used {
  let spent: Spend = NO_SPEND
  let ms = 0
  const sessions = new Set<string>()
  const opened = new Map<string, number>()
  for (const event of events) {
    spent = spend(spent, event)
    if (isEvent(event, 'session:open')) {
      sessions.add(event.session_id ?? '')
      opened.set(event.data.key, event.at)
    }
    if (isEvent(event, 'session:end')) ms += event.at - (opened.get(event.data.key) ?? event.at)
  }
  const { calls, input, output, usd } = spent
  return { sessions: sessions.size, calls, input, output, usd, ms }
}

function agentsOf(a: readonly Event[], b: readonly Event[]): AgentComparison[] {
  const [before, after] = [byAgent(a), byAgent(b)]
  return [...new Set([...before.keys(), ...after.keys()])].map((agent) => ({
    agent,
    used: [usedOf(before.get(agent) ?? []), usedOf(after.get(agent) ?? [])],
  }))
}

/** The events of each agent's sessions. */
function byAgent(events: readonly Event[]): Map<string, Event[]> {
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
