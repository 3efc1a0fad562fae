import type { Team } from '../../judgement/team/team-schema.ts'
import { USER } from '../../judgement/team/team-schema.ts'
import type { Event, EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { TeamEvent, TeamEventOf } from './events.ts'
import type { PersonMessage } from './human-questions.ts'
import { toPersonMessage } from './human-questions.ts'
import type { TeamRunInput } from './input.ts'
import { subTeamMessages } from './sub-team-context.ts'
import type { TeamMessage } from './team-message.ts'

/* The state of a team and its sub-teams while its conversation is rebuilt from the journal. */

export interface RebuiltTeam {
  /** The keys of the team begin with it; empty for the team of the run. */
  readonly prefix: string
  readonly plan: { team: Team }
  readonly input: Pick<TeamRunInput, 'message' | 'attachments'>
  readonly conversation: { messages: TeamMessage[] }
  readonly record: { handoffs: TeamEventOf<'team:handoff'>['data'][] }
  /** The member that has or had the turn, by round. */
  readonly turns: Map<number, string>
  /** Parallel groups by round, with the messages of those who have answered. */
  readonly groups: Map<
    number,
    { members: readonly string[]; messages: Map<string, { key: string; message: TeamMessage }> }
  >
  /** Messages by the key of their turn: a turn that is tried again replaces its own. */
  readonly byKey: Map<string, TeamMessage>
  readonly artifacts: Map<string, readonly string[]>
  round: number
  /** The newest summary. */
  summary: string
  /** The text of the last turn that had any. */
  response: string
}

export interface JournalTeams {
  readonly events: readonly Event[]
  readonly questions: Map<string, EventOf<'gate:open'>['data']>
  /** Agreed texts of groups, by the key of their round: recorded after sessions that have read them. */
  readonly agreed: ReadonlyMap<string, string>
  /** Errors of sub-teams and groups that failed as a whole, by the key of their round: recorded after sessions that have read them. */
  readonly failed: ReadonlyMap<string, TeamEventOf<'team:handoff'>['data']['failed']>
  /** The innermost team that a key belongs to; its state begins with the first use. */
  owner(key: string): RebuiltTeam | undefined
}

export function rebuiltTeams(events: readonly Event[]): JournalTeams {
  const start = events.find((event) => isEvent(event, 'run:start'))
  const all: readonly (Event | TeamEvent)[] = events
  const teamEvents = all.filter((event): event is TeamEvent => event.type.startsWith('team:'))
  const prefixes = teamEvents
    .flatMap(({ type, data: { key } }) => (type === 'team:start' ? [key.slice(0, -'start'.length)] : []))
    .toSorted((one, other) => other.length - one.length)
  const agreed = teamEvents.flatMap((event): [string, string][] =>
    event.type === 'team:handoff' && event.data.agreed !== undefined ? [[event.data.key, event.data.agreed]] : [],
  )
  const failed = teamEvents.flatMap((event) =>
    event.type === 'team:handoff' ? [[event.data.key, event.data.failed] as const] : [],
  )
  const made = new Map<string, RebuiltTeam | undefined>()
  const teams: JournalTeams = {
    events,
    questions: new Map(),
    agreed: new Map(agreed),
    failed: new Map(failed),
    owner: (key) => {
      const prefix = prefixes.find((each) => key.startsWith(each)) ?? ''
      if (!made.has(prefix)) made.set(prefix, prefix === '' ? runTeamOf(start) : subTeamOf(teams, prefix))
      return made.get(prefix)
    },
  }
  return teams
}

function newTeam(
  prefix: string,
  { team, message, attachments }: Pick<TeamRunInput, 'team' | 'message' | 'attachments'>,
): RebuiltTeam {
  return {
    prefix,
    plan: { team },
    input: { message, ...(attachments ? { attachments } : undefined) },
    conversation: { messages: [] },
    record: { handoffs: [] },
    ...{ turns: new Map(), groups: new Map(), byKey: new Map(), artifacts: new Map() },
    ...{ round: 0, summary: '', response: '' },
  }
}

/** The team of the run: an earlier conversation comes before the request. */
function runTeamOf(start: Event | undefined): RebuiltTeam | undefined {
  const input = (isEvent(start, 'run:start') ? (start.data.input ?? {}) : {}) as Partial<TeamRunInput>
  if (typeof input.team !== 'object' || typeof input.message !== 'string') return undefined
  const own = newTeam('', { ...input, team: input.team, message: input.message })
  own.conversation.messages.push(...priorMessages(input.before ?? []))
  addUserMessage(own, toPersonMessage({ text: input.message, attachments: input.attachments }))
  return own
}

/** A sub-team: it works on the same request, and the latest messages of the team above come after it. */
function subTeamOf(teams: JournalTeams, prefix: string): RebuiltTeam | undefined {
  const key = prefix.slice(0, -1)
  const above = teams.owner(key)
  const [, round, member] =
    /^round\/(\d+)\/(?:team|group\/member\/(.+))$/.exec(key.slice(above?.prefix.length ?? 0)) ?? []
  const name = member ?? above?.turns.get(Number(round))
  const team = above?.plan.team.agents.find((each) => each.name === name)?.team
  if (!above || typeof team !== 'object') return undefined
  const { before, attachments } = subTeamMessages(above)
  const own = newTeam(prefix, { team, message: above.input.message, attachments })
  addUserMessage(own, toPersonMessage({ text: own.input.message, attachments }))
  own.conversation.messages.push(...priorMessages(before))
  return own
}

type PriorMessage = Omit<TeamMessage, 'attachments'> & { attachments?: TeamMessage['attachments'] | undefined }

function priorMessages(before: readonly PriorMessage[]): TeamMessage[] {
  return before.map(({ attachments, ...message }) => (attachments ? { ...message, attachments } : message))
}

export function addUserMessage({ conversation, round }: RebuiltTeam, said: PersonMessage): void {
  conversation.messages.push({ from: USER, ...(round > 0 ? { round } : undefined), ...said })
}

export function setMessage({ conversation, byKey, artifacts }: RebuiltTeam, key: string, message: TeamMessage): void {
  const earlier = byKey.get(key)
  const place = earlier ? conversation.messages.indexOf(earlier) : -1
  if (place === -1) conversation.messages.push(message)
  else conversation.messages[place] = message
  byKey.set(key, message)
  artifacts.set(key, message.artifacts ?? [])
}

export function setResponse(team: RebuiltTeam, messages: readonly TeamMessage[]): void {
  const response = messages.flatMap(({ text = '' }) => (text === '' ? [] : text)).join('\n\n')
  if (response.trim() !== '') team.response = response
}

/** The artifacts that were written below a key, as `name@version`. */
export function artifactsUnder({ events }: JournalTeams, key: string): string[] {
  return events.flatMap((event) =>
    isEvent(event, 'artifact:write') && event.data.key.startsWith(`${key}/`)
      ? [`${event.data.name}@${event.data.version}`]
      : [],
  )
}
