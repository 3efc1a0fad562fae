import type { Event } from '../kernel/event.ts'
import { parentStepKey } from './collaboration-view.ts'

/*
 * What a journal tells of a team: who had the turn, why, and where the work went. A team within a team tells the same below
 * the key of its place, so that everything here is kept by the key of the team.
 */

export interface TeamView {
  /** Who has the turn, by the key of the round. */
  turns: Map<string, TeamTurn>
  /** Who comes next and why, by the key of the team. */
  reasons: Map<string, { to: string | null; because: string }>
  /** Who worked, one after the other, in the team that the run is; `user` where the user answered. */
  route: string[]
}

export interface TeamTurn {
  agent: string
  round: number
  /** Why it was handed the work; empty for the first one. */
  reason: string
}

export function newTeamView(): TeamView {
  return { turns: new Map(), reasons: new Map(), route: [] }
}

export function reduceTeam({ turns, reasons, route }: TeamView, event: Event): void {
  if (event.type === 'team:turn') {
    const { key, round, agent } = event.data
    const place = parentStepKey(key)
    const { to = agent, because = '' } = reasons.get(teamKeyOf(place)) ?? {}
    // Only people send the work elsewhere than it was handed: the reason was another's.
    turns.set(place, { agent, round, reason: to === agent ? because : 'chosen by a person' })
    reasons.delete(teamKeyOf(place))
    if (teamKeyOf(place) === '') route.push(agent)
  }
  if (event.type === 'team:handoff') {
    const { key, round, from, to, handoff_reason } = event.data
    reasons.set(teamKeyOf(key), { to, because: briefReason(handoff_reason) })
    if (isUserReply({ round, from }) && teamKeyOf(key) === '') route.push(from)
  }
}

/** With the request the user is no part of the way yet. */
function isUserReply({ round, from }: { round?: unknown; from?: unknown }): boolean {
  return from === 'user' && round !== 0
}

const ROUND_KEY = /(?:^|\/)(?:start|(?:round|reply|steer|ending)\/\d+(?:\/early)?)(?:\/handoff)?$/

/** The key of the team whose round this is. */
function teamKeyOf(round: string): string {
  return round.replace(ROUND_KEY, '')
}

/** How many teams the team that tells this works in. */
export function teamDepth(key: string): number {
  return key.split(/\/team(?=\/)/).length - 1
}

/** The condition without who judged which part of it. */
export function briefReason(reason: string): string {
  return /^"(.+)" holds/s.exec(reason)?.[1] ?? reason
}

/** The turn that a key lies in, the innermost first. */
export function findTurn({ turns }: TeamView, key: string): { turn: TeamTurn; path: string } | undefined {
  for (let place = key; place !== ''; place = parentStepKey(place)) {
    const turn = turns.get(place)
    if (turn) return { turn, path: key.slice(place.length + 1) }
  }
  return undefined
}

/** How the key of a session ends that takes the place of one without a model. */
const FALLBACK_SUFFIX = '/own'
const MODEL_MISSING_CODES: ReadonlySet<string> = new Set(['no_model', 'unknown_model'])

/** Work of the team's own that found no model for its role: no failure, for the model of the run is asked instead. */
export function isModelFallback(
  told: TeamView,
  { key, error }: { key: string; error: { code: string } | null },
): boolean {
  if (error === null || !MODEL_MISSING_CODES.has(error.code) || !/(^|\/)(router|summary)$/.test(key)) return false
  return teamSessionPurpose(told, key) !== undefined
}

/** What a session is there for in its team; `undefined` for those that no team began. */
export function teamSessionPurpose(told: TeamView, key: string): string | undefined {
  if (key.endsWith(FALLBACK_SUFFIX)) {
    const part = teamSessionPurpose(told, key.slice(0, -FALLBACK_SUFFIX.length))
    return part === undefined ? undefined : `${part}, by the run's model`
  }
  const found = findTurn(told, key)
  if (!found)
    return /^(start|reply\/\d+)(\/again\/\d+)?\/router$/.test(key) ? 'judges whom the message is for' : undefined
  const { turn, path } = found
  if (path === 'agent' || /^group\/member\/[^/]+$/.test(path)) {
    return turn.reason === '' ? `round ${turn.round}` : `round ${turn.round}: ${turn.reason}`
  }
  if (/^(again\/\d+\/)?router$/.test(path)) return 'judges what is open'
  return path === 'compress/summary' ? 'sums up the conversation' : undefined
}

/** `writer → reviewer → writer`; the same one twice in a row stays one. */
export function formatRoute(route: readonly string[]): string {
  return route.filter((name, index) => name !== route[index - 1]).join(' → ')
}

/** The route of a team that has ended, from what it left behind. */
export function routeFromOutput(output: unknown): string[] {
  const { handoffs, agent, status } = (typeof output === 'object' && output !== null ? output : {}) as {
    handoffs?: unknown
    agent?: unknown
    status?: unknown
  }
  if (!Array.isArray(handoffs) || typeof agent !== 'string') return []
  const made = (handoffs as { round?: unknown; from?: unknown }[]).filter(
    (each) => each?.from !== 'user' || isUserReply(each),
  )
  const from = made.map((each) => String(each.from))
  return status === 'completed' || agent === '' ? from : [...from, agent]
}
