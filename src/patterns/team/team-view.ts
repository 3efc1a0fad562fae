import type { VariableValue } from '../../judgement/condition/condition-tree.ts'
import type { Event } from '../../kernel/event.ts'
import { parentStepKey } from '../../run-model/step-tree.ts'
import type { TeamEvent, TeamEventOf } from './events.ts'

/*
 * Reduces the events of a team: turns, handoff reasons, route. A nested team writes the same events below its own key
 * prefix, so state is kept by the key of the team.
 */

export interface TeamView {
  /** By the key of the round. */
  turns: Map<string, TeamTurn>
  /** The latest handoff, by the key of the team. */
  handoffs: Map<string, { to: string | null; reason: string }>
  /** Agents of the outermost team in turn order; `user` where the user replied. */
  route: string[]
  /** Why a handoff may not be the one that was meant, such as a variable that the answer did not set. */
  problems: { round: number; from: string; text: string }[]
  /** All handoffs in order, those of nested teams included. */
  handoffEvents: TeamEventOf<'team:handoff'>[]
  loops: TeamEventOf<'team:loop'>[]
  /** The variables of the outermost team that turns and people have set. */
  variables: Map<string, { value: VariableValue; by: string; round: number }>
  /** Groups of the outermost team, by name. */
  groups: Map<string, { kind: string; members: readonly string[] }>
  /** Set at the end of the outermost team. */
  end: { rounds: number; agent: string; reason: string } | undefined
}

export interface TeamTurn {
  agent: string
  round: number
  /** Reason of the handoff to this agent; empty for the first turn. */
  reason: string
}

export function newTeamView(): TeamView {
  const [turns, handoffs, variables, groups] = [new Map(), new Map(), new Map(), new Map()]
  const lists = { route: [], problems: [], handoffEvents: [], loops: [] }
  return { turns, handoffs, variables, groups, ...lists, end: undefined }
}

export function reduceTeam(view: TeamView, event: Event | TeamEvent): void {
  const { turns, handoffs, route, problems } = view
  reduceTeamFacts(view, event)
  if (event.type === 'team:turn') {
    const { key, round, agent } = event.data
    const place = parentStepKey(key)
    const { to = agent, reason = '' } = handoffs.get(teamKeyFrom(place)) ?? {}
    // Only a human can override the recipient, so the recorded reason is not the reason of this turn.
    turns.set(place, { agent, round, reason: to === agent ? reason : 'chosen by a person' })
    handoffs.delete(teamKeyFrom(place))
    if (teamKeyFrom(place) === '') route.push(agent)
  }
  if (event.type === 'team:handoff') {
    const { key, round, from, to, handoff_reason } = event.data
    for (const text of event.data.problems ?? []) problems.push({ round, from, text })
    handoffs.set(teamKeyFrom(key), { to, reason: briefReason(handoff_reason) })
    if (isUserReply({ round, from }) && teamKeyFrom(key) === '') route.push(from)
  }
}

/** The facts that only panels show. */
function reduceTeamFacts(view: TeamView, event: Event | TeamEvent): void {
  switch (event.type) {
    case 'team:handoff': {
      view.handoffEvents.push(event)
      const { key, from, round, variables = {} } = event.data
      if (teamDepth(key) > 0) return
      for (const [name, value] of Object.entries(variables)) view.variables.set(name, { value, by: from, round })
      return
    }
    case 'team:steered': {
      const { action, accepted, by, round } = event.data
      if (accepted && action.do === 'set' && action.path === undefined)
        view.variables.set(action.name, { value: action.value, by, round })
      return
    }
    case 'team:group':
      if (teamDepth(event.data.key) === 0)
        view.groups.set(event.data.group, { kind: event.data.kind, members: event.data.members })
      return
    case 'team:loop':
      view.loops.push(event)
      return
    case 'team:complete':
      if (parentStepKey(event.data.key) === '') view.end = event.data
      return
    default:
  }
}

/** The initial request (round 0) is not part of the route. */
function isUserReply({ round, from }: { round?: unknown; from?: unknown }): boolean {
  return from === 'user' && round !== 0
}

const ROUND_KEY = /(?:^|\/)(?:start|(?:round|reply|steer|ending)\/\d+(?:\/early)?)(?:\/handoff)?$/

/** The key of the team that a round belongs to. */
function teamKeyFrom(roundKey: string): string {
  return roundKey.replace(ROUND_KEY, '')
}

/** Nesting depth of the team that a key belongs to. */
export function teamDepth(key: string): number {
  return key.split(/\/team(?=\/)/).length - 1
}

/** Nesting depth of a team's events: a team that an agent called is below that agent. */
export function teamEventDepth(key: string): number {
  return teamDepth(key) + (key.match(/(?:^|\/)tool\/\d+(?=\/)/g) ?? []).length
}

/** The condition alone, without the evaluation of its parts. */
export function briefReason(reason: string): string {
  return /^"(.+)" holds/s.exec(reason)?.[1] ?? reason
}

/** The innermost turn that contains a key. */
export function findTurn({ turns }: TeamView, key: string): { turn: TeamTurn; path: string } | undefined {
  for (let place = key; place !== ''; place = parentStepKey(place)) {
    const turn = turns.get(place)
    if (turn) return { turn, path: key.slice(place.length + 1) }
  }
  return undefined
}

/** Key suffix of a session that falls back to the model of the run. */
const FALLBACK_SUFFIX = '/fallback'
const MODEL_MISSING_CODES: ReadonlySet<string> = new Set(['no_model', 'unknown_model'])

/** Whether a router or summary session failed only because its role has no model: the model of the run takes over. */
export function isModelFallback(
  team: TeamView,
  { key, error }: { key: string; error: { code: string } | null },
): boolean {
  if (error === null || !MODEL_MISSING_CODES.has(error.code) || !/(^|\/)(router|summary)$/.test(key)) return false
  return teamSessionPurpose(team, key) !== undefined
}

/** The purpose of a session in its team; `undefined` for sessions outside a team. */
export function teamSessionPurpose(team: TeamView, key: string): string | undefined {
  if (key.endsWith(FALLBACK_SUFFIX)) {
    const purpose = teamSessionPurpose(team, key.slice(0, -FALLBACK_SUFFIX.length))
    return purpose === undefined ? undefined : `${purpose}, with the run's model`
  }
  const found = findTurn(team, key)
  if (!found) return /^(start|reply\/\d+)(\/again\/\d+)?\/router$/.test(key) ? 'routes the message' : undefined
  const { turn, path } = found
  if (path === 'agent' || /^group\/member\/[^/]+$/.test(path)) {
    return turn.reason === '' ? `round ${turn.round}` : `round ${turn.round}: ${turn.reason}`
  }
  if (/^(again\/\d+\/)?router$/.test(path)) return 'evaluates conditions'
  return path === 'compress/summary' ? 'summarises the conversation' : undefined
}

/** `writer → reviewer → writer`; consecutive duplicates are merged. */
export function formatRoute(route: readonly string[]): string {
  return route.filter((name, index) => name !== route[index - 1]).join(' → ')
}

/** The route of a finished team run, from its output. */
export function routeFromOutput(output: unknown): string[] {
  const { handoffs, agent, status } = (typeof output === 'object' && output !== null ? output : {}) as {
    handoffs?: unknown
    agent?: unknown
    status?: unknown
  }
  if (!Array.isArray(handoffs) || typeof agent !== 'string') return []
  const listed = (handoffs as { round?: unknown; from?: unknown }[]).filter(
    (each) => each?.from !== 'user' || isUserReply(each),
  )
  const from = listed.map((each) => String(each.from))
  return status === 'completed' || agent === '' ? from : [...from, agent]
}
