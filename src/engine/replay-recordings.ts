import type { Event, EventType } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { stepKey } from './journal-diff.ts'

/*
 * Selects the events that a replay reads from the journal instead of executing: model responses, results of tools and
 * steps, hook verdicts and human answers. Sessions, turns and patterns are executed again and compared, but for the request of a session that was kept
 * when what it depends on was cut: it would read differently now.
 */

export interface Recordings {
  /** Events that the replayed execution finds in its journal. */
  events: Event[]
  /** True if an execution that claimed these step keys used the recorded event. */
  isUsed(event: Event, claimedKeys: ReadonlySet<string>): boolean
}

const ALWAYS_RECORDED = new Set<EventType>([
  'run:reopen',
  'run:cut',
  'run:steer',
  'session:context',
  'session:compress',
  'performer:session',
  'performer:message',
  'performer:plan',
  'model:end',
  'model:error',
  'limit:hit',
  'step:begin',
  'step:end',
  'step:error',
])

/** Events without a step key. */
const WITHOUT_KEY = new Set<EventType>(['run:reopen', 'run:cut', 'run:steer'])

interface JournalFacts {
  /** `key\nattempt` of the model requests that got a response or an error. */
  settledRequests: Set<string>
  /** Keys of the tool calls and performers' turns that ended, without calls that run a pattern. */
  toolCalls: Set<string>
  /** The number of versions of each artifact. */
  artifactVersions: Map<string, number>
  /** The requests of sessions with `keep` from before the last cut. */
  keptRequests: Set<Event>
}

export function recordingsFrom(events: readonly Event[]): Recordings {
  const facts = journalFacts(events)
  return {
    events: events.filter((event) => isRecorded(event, facts)),
    isUsed: (event, claimedKeys) =>
      claimedKeys.has(stepKey(event)) ||
      claimedKeys.has(enclosingToolCall(facts.toolCalls, stepKey(event)) ?? '') ||
      WITHOUT_KEY.has(event.type),
  }
}

function journalFacts(events: readonly Event[]): JournalFacts {
  const settledRequests = new Set<string>()
  const patternCalls = new Set<string>()
  const toolCalls = new Set<string>()
  const artifactVersions = new Map<string, number>()
  for (const event of events) {
    const key = stepKey(event)
    if (isEvent(event, 'model:end') || isEvent(event, 'model:error'))
      settledRequests.add(`${key}\n${event.data.attempt}`)
    if (isEvent(event, 'tool:pre') && event.data.kind === 'pattern') patternCalls.add(key)
    if (isEvent(event, 'artifact:write')) {
      artifactVersions.set(event.data.name, (artifactVersions.get(event.data.name) ?? 0) + 1)
    }
  }
  for (const event of events) {
    const isStepOutcome = isEvent(event, 'step:end') || isEvent(event, 'step:error')
    if (isStepOutcome && stepKey(event).endsWith('/performer')) toolCalls.add(stepKey(event))
    if ((isEvent(event, 'tool:post') || isEvent(event, 'tool:error')) && !patternCalls.has(stepKey(event))) {
      toolCalls.add(stepKey(event))
    }
  }
  return { settledRequests, toolCalls, artifactVersions, keptRequests: keptRequests(events) }
}

function keptRequests(events: readonly Event[]): Set<Event> {
  const lastCut = events.findLast((event) => isEvent(event, 'run:cut'))?.seq ?? 0
  const before = events.filter(({ seq }) => seq < lastCut)
  const kept = new Set(
    before.flatMap((event) => (isEvent(event, 'session:open') && event.data.keep ? event.session_id : [])),
  )
  const isRequest = (event: Event) => isEvent(event, 'session:open') || isEvent(event, 'session:input')
  return new Set(before.filter((event) => isRequest(event) && kept.has(event.session_id)))
}

function isRecorded(event: Event, facts: JournalFacts): boolean {
  const { settledRequests, toolCalls, artifactVersions } = facts
  if (ALWAYS_RECORDED.has(event.type) || facts.keptRequests.has(event)) return true
  if (isEvent(event, 'model:begin')) return settledRequests.has(`${event.data.key}\n${event.data.attempt}`)
  // A hook changed the input of this pattern call. Hooks are not called in a replay.
  if (isEvent(event, 'tool:pre')) return event.data.kind !== 'pattern' || event.data.original_input !== undefined
  if (isEvent(event, 'tool:post') || isEvent(event, 'tool:error')) return toolCalls.has(event.data.key)
  // The order of concurrent writers decides the version numbers.
  if (isEvent(event, 'artifact:write')) return (artifactVersions.get(event.data.name) ?? 0) > 1
  if (isEvent(event, 'gate:open') || isEvent(event, 'gate:answer')) {
    return enclosingToolCall(toolCalls, event.data.key) !== undefined
  }
  return false
}

/** The tool call that a gate belongs to, such as a permission question. */
function enclosingToolCall(toolCalls: ReadonlySet<string>, key: string): string | undefined {
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
    if (toolCalls.has(key.slice(0, end))) return key.slice(0, end)
  }
  return undefined
}
