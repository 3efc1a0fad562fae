import type { HostParts, NeedsReport, RunHost, RunNeeds } from '../judgement/needs/run-needs.ts'
import { changedModels, compareNeeds, withoutUnusedAgents } from '../judgement/needs/run-needs.ts'
import type { Event, ModelChange } from '../kernel/event.ts'
import { isEvent, isKernelEventType } from '../kernel/event.ts'
import { canonicalJson } from '../kernel/hash.ts'
import type { JournalIndex } from '../kernel/journal/journal-index.ts'
import type { Store } from '../store/store.ts'

/** The number of first events that `recordedNeeds` reads. */
const NEEDS_EVENTS = 2

/**
 * The parts that a run needs: those of the process that first executed it. Where a run is started here and executed elsewhere, the
 * process that starts it may provide fewer. Roles that stand for the run's own model are not among them: it brings that model.
 */
export function recordedNeeds(events: readonly Event[]): RunNeeds | undefined {
  const needs = firstNeeds(events)
  const roles = rolesOfOwnModel(events)
  if (!needs || roles.length === 0) return needs
  const { models = [], ...others } = needs
  const needed = models.filter(({ name }) => !roles.includes(name))
  if (needed.length > 0) return { ...others, models: needed }
  return Object.keys(others).length > 1 ? others : undefined
}

function firstNeeds([start, attempt]: readonly Event[]): RunNeeds | undefined {
  if (isEvent(attempt, 'run:attempt') && attempt.data.needs) return attempt.data.needs as RunNeeds
  return isEvent(start, 'run:start') ? (start.data.needs as RunNeeds | undefined) : undefined
}

/** The roles that stood for the run's own model when it started, as all do with `--model`. */
export function rolesOfOwnModel(events: readonly Event[]): string[] {
  const [start] = events
  const model = isEvent(start, 'run:start') ? start.data.model : undefined
  if (model === undefined) return []
  return (firstNeeds(events)?.models ?? []).flatMap(({ name, hash }) => (hash === model ? name : []))
}

/** The models that this process uses for the run instead of those of the attempts before. */
export function modelChanges(
  events: readonly Event[],
  recorded: JournalIndex,
  { provided }: RunHost,
): { models?: ModelChange[] } {
  const attempts = events.filter((event) => isEvent(event, 'run:attempt'))
  if (attempts.length === 0 || !provided.models) return {}
  const used = new Map((recordedNeeds(events)?.models ?? []).map(({ name, hash }) => [name, hash]))
  for (const { data } of attempts) for (const { role, to } of data.models ?? []) used.set(role, to)
  const changes = changedModels(used, provided)
  if (changes.length === 0) return {}
  const lastModels = modelsOfOpenSessions(events, recorded)
  const agentsWith = (from: string) => {
    const models = from.split(',').map((name) => name.trim())
    return [...new Set(lastModels.flatMap(({ agent, model }) => (models.includes(model) ? agent : [])))]
  }
  return { models: changes.map((change) => ({ ...change, agents: agentsWith(change.from) })) }
}

function modelsOfOpenSessions(events: readonly Event[], recorded: JournalIndex): { agent: string; model: string }[] {
  const models = new Map<string, string>()
  for (const event of events)
    if (isEvent(event, 'model:begin') && event.session_id !== undefined) models.set(event.session_id, event.data.model)
  return [...recorded.openSessions()].flatMap(([session_id, key]) => {
    const opening = recorded.opening(key)
    const model = models.get(session_id)
    return isEvent(opening, 'session:open') && model !== undefined ? { agent: opening.data.agent.name, model } : []
  })
}

/** The needs that the first attempt records: none if `run:start` has the same. */
export function firstAttemptNeeds(events: readonly Event[], host: RunHost): { needs?: RunNeeds } {
  const [start, ...others] = events
  if (!isEvent(start, 'run:start') || others.length > 0) return {}
  const needs = host.needsFor(start.data.model)
  const isSame = needs === start.data.needs || canonicalJson(needs ?? null) === canonicalJson(start.data.needs ?? null)
  return !needs || isSame ? {} : { needs }
}

/** The events that `needsReportFrom` reads: the first ones or, if an agent is missing here, all of them. */
export async function readNeedsEvents(store: Store, run_id: string, provided: HostParts): Promise<Event[]> {
  const events = await store.events(run_id, { limit: NEEDS_EVENTS })
  return lacksAgents(compareNeeds(recordedNeeds(events), provided)) ? store.events(run_id) : events
}

/**
 * How the parts of this process differ from those that a run needs. A missing agent matters only if the run uses it, so that an agent
 * file can be deleted while other runs wait. The code of a program's own pattern may name any agent, so that such a run needs all.
 */
export function needsReportFrom(events: readonly Event[], provided: HostParts): NeedsReport {
  const needs = recordedNeeds(events)
  const report = compareNeeds(needs, provided)
  const [start] = events
  if (!lacksAgents(report) || !isEvent(start, 'run:start')) return report
  if (needs?.patterns?.some(({ name }) => name === start.data.pattern)) return report
  const used = new Set(events.flatMap(usedNames))
  return withoutUnusedAgents(report, (name) => used.has(name))
}

function lacksAgents({ missing }: NeedsReport): boolean {
  return missing.some(({ kind }) => kind === 'agents')
}

/** Agents with a session, and every string that may name an agent to be called: in the input, a tool call, a question, a pattern's event. */
function usedNames(event: Event): string[] {
  if (isEvent(event, 'session:open')) return [event.data.agent.name]
  if (isEvent(event, 'run:start')) return stringsIn(event.data.input)
  const isCall = isEvent(event, 'tool:pre') || isEvent(event, 'gate:open')
  return isCall || !isKernelEventType(event.type) ? stringsIn(event.data) : []
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}
