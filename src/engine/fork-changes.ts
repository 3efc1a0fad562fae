import { TroupeError, unknownNameError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Event, EventOf, ForkChanges, RunStart, SessionOpen } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Gate } from '../kernel/gate.ts'
import type { Limits } from '../kernel/limits.ts'
import { limitsSchema } from '../kernel/limits-schema.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Ports } from '../kernel/ports.ts'
import type { Roster } from '../kernel/roster.ts'
import { createRoster } from '../kernel/roster.ts'
import { formatIssues } from '../kernel/schema.ts'
import { stepKey } from './journal-diff.ts'

/*
 * What a fork does differently. A change may only touch what nothing before the cut rests on: who works with which words
 * from now on, what it may cost, an answer that was not yet used, an input that was not yet read.
 */

/** The ports of a run: a fork's agents are changed for all of its sessions, whoever executes it. */
export function applyForkToPorts(ports: Ports, { forked_from }: RunStart): Ports {
  const agents = forked_from?.changes.agents
  if (!agents) return ports
  const { roster } = ports
  const changed = roster.names.map((name) => applyAgentChange(roster.get(name), agents[name]))
  return { ...ports, roster: createRoster(changed) }
}

function applyAgentChange(agent: Agent, change: { instructions?: string; model?: string } | undefined): Agent {
  return change ? { ...agent, ...change } : agent
}

/** What changes are checked against. */
export interface ForkChangeContext {
  roster: Roster
  patterns: ReadonlyMap<string, Pattern>
}

/** The events up to the cut with the changes made. */
export function applyForkChanges(events: Event[], changes: ForkChanges, context: ForkChangeContext): Event[] {
  checkAgents(events, changes, context.roster)
  const before = runStartEvent(events).data.limits
  const limits = applyLimitChanges(before, changes.limits)
  const changed = events.map((event): Event => {
    if (isEvent(event, 'run:start'))
      return { ...event, data: applyStartChanges(event.data, changes, { limits, events, context }) }
    if (isEvent(event, 'run:reopen')) {
      return { ...event, data: { ...event.data, limits: applyLimitChanges(event.data.limits, changes.limits) } }
    }
    if (!isEvent(event, 'session:open')) return event
    const depth = event.data.max_depth === before.depth ? limits.depth : event.data.max_depth
    return { ...event, data: applySessionChanges({ ...event.data, max_depth: depth }, changes) }
  })
  for (const [id, answer] of Object.entries(changes.answers ?? {})) applyAnswerChange(changed, id, answer)
  return changed
}

function runStartEvent(events: readonly Event[]): EventOf<'run:start'> {
  const [start] = events
  if (isEvent(start, 'run:start')) return start
  throw new TroupeError('store_corrupt', 'the journal does not begin with run:start')
}

interface CutContext {
  limits: Limits
  events: readonly Event[]
  context: ForkChangeContext
}

function applyStartChanges(start: RunStart, changes: ForkChanges, at: CutContext): RunStart {
  if (changes.input && at.events.length > 1) {
    const used = at.events[1]
    throw new TroupeError(
      'invalid_input',
      `the input had been used at the cut: ${used?.type} ${stepKey(at.events[1] as Event)}`,
      {
        hint: 'change the input with --at 1, where nothing has happened yet',
      },
    )
  }
  return {
    ...start,
    limits: at.limits,
    ...(changes.model === undefined ? undefined : { model: changes.model }),
    ...(changes.input ? { input: applyInputChanges(start, changes.input, at.context) } : undefined),
  }
}

function applyInputChanges(
  { pattern: name, input }: RunStart,
  changes: object,
  { patterns }: ForkChangeContext,
): unknown {
  const pattern = patterns.get(name)
  if (!pattern) throw unknownNameError('unknown_pattern', { kind: 'pattern', name, known: [...patterns.keys()] })
  const parsed = pattern.input.safeParse({ ...(input as object), ...changes })
  if (parsed.success) return parsed.data
  throw new TroupeError('invalid_input', `the input of ${name} does not fit: ${formatIssues(parsed.error)}`)
}

function applyLimitChanges(limits: Limits, changes: Partial<Limits> = {}): Limits {
  const parsed = limitsSchema.safeParse({ ...limits, ...changes })
  if (parsed.success) return parsed.data
  throw new TroupeError('invalid_input', `the limits do not fit: ${formatIssues(parsed.error)}`, {
    alternatives: Object.keys(limits),
  })
}

function applySessionChanges(open: SessionOpen, { agents }: ForkChanges): SessionOpen {
  const change = agents?.[open.agent.name]
  if (!change) return open
  const model = change.model === undefined ? undefined : { model: change.model }
  return { ...open, ...model, agent: applyAgentChange(open.agent, change) }
}

function checkAgents(cut: readonly Event[], { agents }: ForkChanges, roster: Roster): void {
  const opened = cut.flatMap((event) => (isEvent(event, 'session:open') ? event.data.agent.name : []))
  const known = [...new Set([...opened, ...roster.names])]
  for (const name of Object.keys(agents ?? {})) {
    if (!known.includes(name)) throw unknownNameError('unknown_agent', { kind: 'agent', name, known })
  }
}

/** Replaces an answer that nothing rests on yet, or gives one to a question that is open at the cut. */
function applyAnswerChange(events: Event[], id: string, answer: unknown): void {
  const gate = findGate(events, id)
  if (gate.choices && !gate.choices.some((choice) => choice === answer)) {
    throw new TroupeError('invalid_input', `'${String(answer)}' is no answer to "${gate.question}"`, {
      alternatives: gate.choices,
      hint: `answer one of: ${gate.choices.join(', ')}`,
    })
  }
  const at = events.findIndex((event) => isEvent(event, 'gate:answer') && event.data.gate_id === gate.gate_id)
  const given = events[at]
  const last = events.at(-1) as Event
  const { key, gate_id } = gate
  const data = { key, gate_id, answer, by: 'fork' }
  if (!isEvent(given, 'gate:answer')) {
    events.push({ run_id: last.run_id, seq: last.seq + 1, at: last.at, type: 'gate:answer', data })
    return
  }
  const opened = events.find((event) => isEvent(event, 'gate:open') && event.data.gate_id === gate_id)
  const used = events.slice(at + 1).find((event) => dependsOnAnswer(event, key, opened?.session_id))
  if (used) {
    throw new TroupeError(
      'invalid_input',
      `the answer to ${gate_id} had been used at the cut: event ${used.seq}, ${used.type}`,
      {
        hint: `cut before it: --at ${used.seq - 1}`,
      },
    )
  }
  events[at] = { ...given, data }
}

function dependsOnAnswer(event: Event, gate: string, session_id: string | undefined): boolean {
  const key = stepKey(event)
  if (key === '') return false
  return session_id === undefined || event.session_id === session_id || gate.startsWith(`${key}/`)
}

function findGate(events: readonly Event[], id: string): Gate {
  const gates = events.flatMap((event) => (isEvent(event, 'gate:open') ? event.data : []))
  const found = gates.filter(({ gate_id, key }) => gate_id === id || key === id)
  const near = found.length > 0 ? found : gates.filter(({ gate_id }) => gate_id.startsWith(id) && id !== '')
  const [gate] = near
  if (gate && near.length === 1) return gate
  throw unknownNameError('unknown_gate', {
    kind: 'question before the cut',
    name: id,
    known: gates.map(({ gate_id }) => gate_id),
  })
}
