import { TroupeError, unknownNameError } from '../errors.ts'
import type { Event, ForkChanges, RunStart, SessionOpen } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Gate } from '../kernel/gate.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Roster } from '../kernel/roster.ts'
import { parsePatternInput, requirePattern } from '../kernel/run-input.ts'
import { toJsonSchema } from '../schema/schema.ts'
import { unknownGateError } from '../store/preconditions.ts'
import { applyAgentChange } from './create-roster.ts'
import { checkGateAnswer } from './gate-answer.ts'
import { stepKey } from './journal-diff.ts'
import { parseLimits } from './parse-limits.ts'
import { requireRunStart } from './run-history.ts'

/*
 * Changes that a fork makes to the journal it inherits. A change is allowed only if no kept event depends on the old
 * value: agents and models from the cut on, limits, an answer that was not used yet, the input before the first step.
 */

export interface ForkChangeContext {
  roster: Roster
  patterns: ReadonlyMap<string, Pattern>
}

/** Returns the kept events with the changes applied. Throws if a change is invalid or comes too late. */
export function applyForkChanges(events: Event[], changes: ForkChanges, context: ForkChangeContext): Event[] {
  checkAgents(events, changes, context.roster)
  const before = requireRunStart(events).limits
  const limits = parseLimits(before, changes.limits)
  const changed = events.map((event): Event => {
    if (isEvent(event, 'run:start')) {
      const start = applyInputChanges(event.data, changes, { events, context })
      return {
        ...event,
        data: { ...start, limits, ...(changes.model === undefined ? undefined : { model: changes.model }) },
      }
    }
    if (isEvent(event, 'run:reopen')) {
      return { ...event, data: { ...event.data, limits: parseLimits(event.data.limits, changes.limits) } }
    }
    if (!isEvent(event, 'session:open')) return event
    const depth = event.data.max_depth === before.depth ? limits.depth : event.data.max_depth
    return { ...event, data: applySessionChanges({ ...event.data, max_depth: depth }, changes) }
  })
  for (const [gate_id, answer] of Object.entries(changes.answers ?? {})) applyAnswerChange(changed, gate_id, answer)
  return changed
}

interface InputChangeContext {
  events: readonly Event[]
  context: ForkChangeContext
}

function applyInputChanges(
  start: RunStart,
  { input: changes }: ForkChanges,
  { events, context }: InputChangeContext,
): RunStart {
  if (!changes) return start
  const [, used] = events
  if (used) {
    throw new TroupeError(
      'invalid_input',
      `\`input\` was already used by event ${used.seq}, ${used.type} ${stepKey(used)}`,
      {
        hint: 'to change the input, fork before the first step: --at 1',
      },
    )
  }
  const pattern = requirePattern(context.patterns, start.pattern)
  return { ...start, input: parsePatternInput(pattern, { ...knownFields(pattern, start.input), ...changes }) }
}

/** The recorded fields that the input still has: an older version may have recorded more. */
function knownFields({ input: schema }: Pattern, recorded: unknown): object {
  const { properties, additionalProperties } = toJsonSchema(schema)
  const fields = Object.entries(recorded as object)
  const isStrict = properties !== undefined && additionalProperties === false
  return Object.fromEntries(isStrict ? fields.filter(([name]) => Object.hasOwn(properties as object, name)) : fields)
}

function applySessionChanges(open: SessionOpen, { agents }: ForkChanges): SessionOpen {
  const change = agents?.[open.agent.name]
  if (!change) return open
  const model = change.model === undefined ? undefined : { model: change.model }
  return { ...open, ...model, agent: applyAgentChange(open.agent, change) }
}

function checkAgents(events: readonly Event[], { agents }: ForkChanges, roster: Roster): void {
  const opened = events.flatMap((event) => (isEvent(event, 'session:open') ? event.data.agent.name : []))
  const known = [...new Set([...opened, ...roster.names])]
  for (const name of Object.keys(agents ?? {})) {
    if (!known.includes(name)) throw unknownNameError('unknown_agent', { kind: 'agent', name, known })
  }
}

/** Replaces an answer that was not used yet, or answers a gate that is open at the cut. Changes `events` in place. */
function applyAnswerChange(events: Event[], id: string, answer: unknown): void {
  const gate = findGate(events, id)
  checkGateAnswer(gate, answer)
  const { key, gate_id } = gate
  const data = { key, gate_id, answer, by: 'fork' }
  const index = events.findIndex((event) => isEvent(event, 'gate:answer') && event.data.gate_id === gate_id)
  const existing = events[index]
  if (!isEvent(existing, 'gate:answer')) {
    const last = events.at(-1) as Event
    events.push({ run_id: last.run_id, seq: last.seq + 1, at: last.at, type: 'gate:answer', data })
    return
  }
  const opened = events.find((event) => isEvent(event, 'gate:open') && event.data.gate_id === gate_id)
  const used = events.slice(index + 1).find((event) => dependsOnAnswer(event, key, opened?.session_id))
  if (used) {
    throw new TroupeError(
      'invalid_input',
      `the answer to ${gate_id} was already used by event ${used.seq}, ${used.type}`,
      {
        hint: `fork before that event: --at ${used.seq - 1}`,
      },
    )
  }
  events[index] = { ...existing, data }
}

function dependsOnAnswer(event: Event, gateKey: string, session_id: string | undefined): boolean {
  const key = stepKey(event)
  if (key === '') return false
  return session_id === undefined || event.session_id === session_id || gateKey.startsWith(`${key}/`)
}

/** Finds a gate by its id, its key, or an unambiguous prefix of its id. */
function findGate(events: readonly Event[], id: string): Gate {
  const gates = events.flatMap((event) => (isEvent(event, 'gate:open') ? event.data : []))
  const exact = gates.filter(({ gate_id, key }) => gate_id === id || key === id)
  const matches = exact.length > 0 ? exact : gates.filter(({ gate_id }) => gate_id.startsWith(id) && id !== '')
  const [gate] = matches
  if (gate && matches.length === 1) return gate
  throw unknownGateError(id, gates)
}
