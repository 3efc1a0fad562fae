import type { ErrorRecord } from '../../../errors.ts'
import type { Agent } from '../../../kernel/agent.ts'
import type { Context } from '../../../kernel/context.ts'
import type { SessionResult } from '../../../kernel/session-result.ts'
import { toIdentifier } from '../../../requests/read-answer.ts'
import { requireUsableSession } from '../configuration-error.ts'
import type { ConsultConfig } from '../consult-config.ts'
import { orchestratorFor } from '../orchestrator.ts'
import { readAtOnce } from '../read-at-once.ts'
import type { RecordedRows } from './load-and-history.ts'
import { isSpecialistBusy, readRecords, recordsFromRows } from './load-and-history.ts'
import type { RoutingAnswer, SpecialistDecision } from './routing-decision.ts'
import { parseRoutingDecision } from './routing-decision.ts'
import type { RoutedRequest } from './routing-prompt.ts'
import { formatRoutingCorrection, formatRoutingRequest, ROUTING_SYSTEM, routingAnswer } from './routing-prompt.ts'
import { findScenario } from './scenarios.ts'

/** The part of the settings of `consult` that routing reads. */
export type RoutingConfig = Pick<ConsultConfig, 'scenarios' | 'orchestrator' | 'limits'>

export interface SelectionRequest {
  request: RoutedRequest
  config: RoutingConfig
  /** Agents that must not be chosen: already tried, or waiting up the chain. */
  excluded: readonly string[]
  /** The specialist that failed: its scenario's fallback is asked next. */
  previous?: { agent: string; reason: string; problem: string } | undefined
  /** Load and past success of the specialists, if they were read already. */
  records?: RecordedRows | undefined
  key: string
}

/** `model`: the orchestrator's answer. `fallback`: the scenario's specialist, without a usable answer. */
export type RoutingMethod = 'model' | 'fallback'

export interface SpecialistChoice {
  agent: string
  /** `agent` first; more than one only for a question that spans several fields. */
  agents: string[]
  /** The `consultation_reason`: a scenario or free text. */
  reason: string
  rationale: string
  confidence: number
  method: RoutingMethod
  /** Whether the `suggested_agent` was chosen; `none` without a suggestion. */
  hint: 'none' | 'followed' | 'not_followed'
  usage?: SessionResult['usage']
}

/** `error`: nobody was chosen because the orchestrator could not be asked. */
export type Selection = SpecialistChoice | { none: string; usage?: SessionResult['usage']; error?: ErrorRecord }

/** The collection of the agents that come with Troupe. */
const BUILT_IN = 'troupe'

/** Chooses the specialist of a consultation. The orchestrator decides; the asker's suggestion is a hint. */
export async function selectSpecialist(context: Context, selection: SelectionRequest): Promise<Selection> {
  const candidates = consultableAgents(context, selection)
  if (candidates.length === 0) return { none: 'no other agent of the roster can be asked' }
  const names = candidates.map(({ name }) => name)
  const choice = await choose(context, selection, candidates)
  return 'none' in choice ? choice : rerouteFromBusy(context, selection, { choice, names })
}

async function choose(context: Context, selection: SelectionRequest, candidates: readonly Agent[]): Promise<Selection> {
  const { request, config, previous } = selection
  const names = candidates.map(({ name }) => name)
  const fallback = previous && findScenario(config.scenarios, previous.reason)?.fallback
  if (previous && fallback !== undefined && names.includes(fallback)) {
    const rationale = `${previous.agent} did not answer (${previous.problem}); ${fallback} is the fallback of ${previous.reason}.`
    return toChoice(selection, { agents: [fallback], reason: previous.reason, rationale, confidence: 0.5 }, 'fallback')
  }
  return routeByModel(context, selection, { request, candidates })
}

/** The other specialist of the scenario, if the chosen one is busy and that one is not. */
async function rerouteFromBusy(
  context: Context,
  selection: SelectionRequest,
  { choice, names }: { choice: SpecialistChoice; names: readonly string[] },
): Promise<SpecialistChoice> {
  const { config, key } = selection
  const { agent, agents, reason, confidence, usage } = choice
  const scenario = findScenario(config.scenarios, reason)
  const other = [scenario?.primary, scenario?.fallback].find(
    (name) => name !== undefined && name !== agent && names.includes(name),
  )
  if (agents.length > 1 || other === undefined) return choice
  const max = config.limits.max_active_collaborations_per_specialist
  const isOtherFree = await readAtOnce(
    context,
    { key: `${key}/load`, earlier: `${key}/load/now` },
    async (reading) =>
      (await isSpecialistBusy(reading, { agent, max, key: `${key}/load` })) &&
      !(await isSpecialistBusy(reading, { agent: other, max, key: `${key}/other-load` })),
  )
  if (!isOtherFree) return choice
  const load = max === 1 ? 'a question' : `${max} questions`
  const rationale = `${agent} was chosen, but it works on ${load} already; ${other} answers ${reason}, too.`
  const rerouted = toChoice(selection, { agents: [other], reason, rationale, confidence }, 'fallback')
  return usage ? { ...rerouted, usage } : rerouted
}

/**
 * The agents of the project, and those built in that a scenario names or the asker suggests: the others have no field of knowledge, such as
 * `default`. Never the asker, nor those excluded.
 */
function consultableAgents({ roster }: Context, { request, config, excluded }: SelectionRequest): Agent[] {
  const refused = new Set([...excluded, request.requesting_agent])
  const named = new Set([
    request.suggested_agent,
    ...config.scenarios.flatMap(({ primary, fallback }) => [primary, fallback]),
  ])
  return roster.names
    .map((name) => ({ ...roster.get(name), name }))
    .filter((agent) => !refused.has(agent.name) && (named.has(agent.name) || !isBuiltIn(agent)))
}

function isBuiltIn({ origin }: Agent): boolean {
  return origin?.by === 'user' && origin.collection === BUILT_IN
}

async function routeByModel(
  context: Context,
  selection: SelectionRequest,
  { request, candidates }: { request: RoutedRequest; candidates: readonly Agent[] },
): Promise<Selection> {
  const { config, key, previous } = selection
  const names = candidates.map(({ name }) => name)
  const at = { key: `${key}/records`, earlier: `${key}/now` }
  const rows = selection.records ?? (await readAtOnce(context, at, (reading) => readRecords(reading, key)))
  const { scenarios, limits } = config
  const max_active = limits.max_active_collaborations_per_specialist
  const records = recordsFromRows(rows)
  const session = await context.request({
    ...orchestratorFor(config, ROUTING_SYSTEM),
    key: `${key}/router`,
    prompt: formatRoutingRequest({ request, candidates, scenarios, records, max_active, previous }),
    answer: routingAnswer(names),
    check: (first) => {
      const decision = readDecision(first, names)
      return decision.kind === 'unusable' ? formatRoutingCorrection(decision.problem, candidates) : undefined
    },
  })
  const decision = readDecision(session, names)
  requireUsableSession(session)
  const { usage } = session
  if (decision.kind === 'none')
    return { none: decision.rationale || 'the orchestrator found no agent that can answer', usage }
  if (decision.kind === 'unusable') {
    const choice = chooseByScenario(selection, names, decision)
    return { ...choice, usage, ...('none' in choice && session.error ? { error: session.error } : undefined) }
  }
  const reason = reasonOf(decision.reason, selection)
  return { ...toChoice(selection, { ...decision, reason }, 'model'), usage }
}

function readDecision(
  { status, error, ...answer }: RoutingAnswer & Pick<SessionResult, 'status' | 'error'>,
  names: readonly string[],
): SpecialistDecision {
  if (status !== 'completed')
    return { kind: 'unusable', problem: `the routing request failed: ${error?.message ?? status}` }
  return parseRoutingDecision(answer, names)
}

/** The specialist of the reason that the asker or the orchestrator states; or nobody. */
function chooseByScenario(
  selection: SelectionRequest,
  names: readonly string[],
  { problem, reason }: { problem: string; reason?: string },
): Selection {
  const { request, config } = selection
  const { scenarios } = config
  const scenario = findScenario(scenarios, request.consultation_reason) ?? findScenario(scenarios, reason)
  const agent = [scenario?.primary, scenario?.fallback].find((name) => name !== undefined && names.includes(name))
  if (!scenario || agent === undefined) return { none: `the orchestrator gave no usable decision: ${problem}` }
  const rationale = `The orchestrator gave no usable decision (${problem}); ${agent} usually answers ${scenario.name}.`
  return toChoice(selection, { agents: [agent], reason: scenario.name, rationale, confidence: 0.3 }, 'fallback')
}

/** The asker's reason stays; a scenario is spelled as configured. */
function reasonOf(decided: string, { request, config }: SelectionRequest): string {
  const stated = request.consultation_reason?.trim()
  if (stated !== undefined && stated !== '') return findScenario(config.scenarios, stated)?.name ?? stated
  return findScenario(config.scenarios, decided)?.name ?? (decided || 'unspecified')
}

interface Decision {
  agents: string[]
  reason: string
  rationale: string
  confidence: number
}

/** Adds to the rationale whether the suggestion was followed. */
function toChoice({ request }: SelectionRequest, decision: Decision, method: RoutingMethod): SpecialistChoice {
  const { agents, reason, confidence } = decision
  const { suggested_agent } = request
  const isFollowed = agents.some((name) => toIdentifier(name) === toIdentifier(suggested_agent ?? ''))
  const hint = suggested_agent === undefined ? 'none' : isFollowed ? 'followed' : 'not_followed'
  const note = hint === 'none' ? '' : ` The suggestion ${suggested_agent} was ${isFollowed ? '' : 'not '}followed.`
  const [agent = ''] = agents
  return { agent, agents, reason, rationale: `${decision.rationale}${note}`.trim(), confidence, method, hint }
}
