import type { Event } from '../../../kernel/event.ts'
import { parentOf } from './collaboration.ts'

/*
 * What a journal tells of a team: who had the turn, why, and where the work went. A team within a team tells the same below
 * the key of its place, so that everything here is kept by the key of the team.
 */

export interface TeamTold {
  /** Who has the turn, by the key of the round. */
  turns: Map<string, Turn>
  /** Who comes next and why, by the key of the team. */
  reasons: Map<string, { to: string | null; because: string }>
  /** Who worked, one after the other, in the team that the run is; `user` where the user answered. */
  route: string[]
}

export interface Turn {
  agent: string
  round: number
  /** Why it was handed the work; empty for the first one. */
  because: string
}

export function newTeamTold(): TeamTold {
  return { turns: new Map(), reasons: new Map(), route: [] }
}

export function hearTeam({ turns, reasons, route }: TeamTold, event: Event): void {
  if (event.type === 'team:turn') {
    const { key, round, agent } = event.data
    const place = parentOf(key)
    const { to = agent, because = '' } = reasons.get(teamAt(place)) ?? {}
    // Only people send the work elsewhere than it was handed: the reason was another's.
    turns.set(place, { agent, round, because: to === agent ? because : 'chosen by a person' })
    reasons.delete(teamAt(place))
    if (teamAt(place) === '') route.push(agent)
  }
  if (event.type === 'team:handoff') {
    const { key, round, from, to, handoff_reason } = event.data
    reasons.set(teamAt(key), { to, because: briefReason(handoff_reason) })
    if (isReply({ round, from }) && teamAt(key) === '') route.push(from)
  }
}

/** With the request the user is no part of the way yet. */
function isReply({ round, from }: { round?: unknown; from?: unknown }): boolean {
  return from === 'user' && round !== 0
}

const ROUND = /(?:^|\/)(?:start|(?:round|reply|steer|ending)\/\d+(?:\/early)?)(?:\/handoff)?$/

/** The key of the team whose round this is. */
function teamAt(round: string): string {
  return round.replace(ROUND, '')
}

/** How many teams the team that tells this works in. */
export function teamsAbove(key: string): number {
  return key.split(/\/team(?=\/)/).length - 1
}

/** The condition without who judged which part of it. */
export function briefReason(reason: string): string {
  return /^"(.+)" holds/s.exec(reason)?.[1] ?? reason
}

/** The turn that a key lies in, the innermost first. */
export function turnAt({ turns }: TeamTold, key: string): { turn: Turn; path: string } | undefined {
  for (let place = key; place !== ''; place = parentOf(place)) {
    const turn = turns.get(place)
    if (turn) return { turn, path: key.slice(place.length + 1) }
  }
  return undefined
}

/** How the key of a session ends that takes the place of one without a model. */
const OWN = '/own'
const NO_SUCH_MODEL: ReadonlySet<string> = new Set(['no_model', 'unknown_model'])

/** Work of the team's own that found no model for its role: no failure, for the model of the run is asked instead. */
export function isReplaced(told: TeamTold, { key, error }: { key: string; error: { code: string } | null }): boolean {
  if (error === null || !NO_SUCH_MODEL.has(error.code) || !/(^|\/)(router|summary)$/.test(key)) return false
  return partInTeam(told, key) !== undefined
}

/** What a session is there for in its team; `undefined` for those that no team began. */
export function partInTeam(told: TeamTold, key: string): string | undefined {
  if (key.endsWith(OWN)) {
    const part = partInTeam(told, key.slice(0, -OWN.length))
    return part === undefined ? undefined : `${part}, by the run's model`
  }
  const found = turnAt(told, key)
  if (!found)
    return /^(start|reply\/\d+)(\/again\/\d+)?\/router$/.test(key) ? 'judges whom the message is for' : undefined
  const { turn, path } = found
  if (path === 'agent' || /^group\/member\/[^/]+$/.test(path)) {
    return turn.because === '' ? `round ${turn.round}` : `round ${turn.round}: ${turn.because}`
  }
  if (/^(again\/\d+\/)?router$/.test(path)) return 'judges what is open'
  return path === 'compress/summary' ? 'sums up the conversation' : undefined
}

/** `writer → reviewer → writer`; the same one twice in a row stays one. */
export function routeWords(route: readonly string[]): string {
  return route.filter((name, index) => name !== route[index - 1]).join(' → ')
}

/** The route of a team that has ended, from what it left behind. */
export function routeOf(output: unknown): string[] {
  const { handoffs, agent, status } = (typeof output === 'object' && output !== null ? output : {}) as {
    handoffs?: unknown
    agent?: unknown
    status?: unknown
  }
  if (!Array.isArray(handoffs) || typeof agent !== 'string') return []
  const made = (handoffs as { round?: unknown; from?: unknown }[]).filter(
    (each) => each?.from !== 'user' || isReply(each),
  )
  const from = made.map((each) => String(each.from))
  return status === 'completed' || agent === '' ? from : [...from, agent]
}
