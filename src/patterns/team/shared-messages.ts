import type { Event, EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { Message } from '../../kernel/model.ts'
import { parentStepKey } from '../../run-model/step-tree.ts'
import { summarizedMessages, summaryMessage } from './compress-conversation.ts'
import type { TeamEvent, TeamEventOf } from './events.ts'
import { parseAnswerMessage, toPersonMessage } from './human-questions.ts'
import type { JournalTeams, RebuiltTeam } from './rebuilt-team.ts'
import { addUserMessage, artifactsUnder, rebuiltTeams, setMessage, setResponse } from './rebuilt-team.ts'
import { toUserMessage } from './team-message.ts'
import { toAgentMessage, toTeamMessage } from './turn-message.ts'
import { parseTurnOutput } from './turn-output.ts'

/*
 * The shared conversation of a team from its journal, which does not store it: the messages of agents, groups, people and sub-teams, and
 * summaries. What the journal does not tell is not rebuilt: the hash of the thread then shows that this is not what was sent.
 */

/** The messages that a session of a team, or of one of its sub-teams, began with. */
export function sharedMessages(events: readonly Event[], open: EventOf<'session:open'>): Message[] {
  const teams = rebuiltTeams(events)
  for (const event of events) {
    if (event.seq >= open.seq) break
    addEvent(teams, event)
  }
  const owner = teams.owner(open.data.key)
  // The handoff comes after the sessions that decide it, which have read the errors of the round.
  if (owner && !isInTurn(open.data.key.slice(owner.prefix.length))) addFailedTurns(teams, owner, owner.round)
  return (owner?.conversation.messages ?? []).map(toUserMessage)
}

function isInTurn(path: string): boolean {
  return /^round\/\d+\/(agent|group)\b/.test(path)
}

function addEvent(teams: JournalTeams, event: Event): void {
  if (isEvent(event, 'session:end')) addSessionEnd(teams, event.data)
  else if (isEvent(event, 'gate:open')) teams.questions.set(event.data.gate_id, event.data)
  else if (isEvent(event, 'gate:answer')) addAnswer(teams, event.data)
  else addTeamEvent(teams, event)
}

function addTeamEvent(teams: JournalTeams, event: Event | TeamEvent): void {
  const owner = event.type.startsWith('team:') ? teams.owner((event as TeamEvent).data.key) : undefined
  if (!owner) return
  switch (event.type) {
    case 'team:turn':
      owner.round = event.data.round
      owner.turns.set(event.data.round, event.data.agent)
      return
    case 'team:group':
      addGroup(teams, owner, event)
      return
    case 'team:handoff':
      addFailedTurns(teams, owner, event.data.round)
      owner.record.handoffs.push(event.data)
      return
    case 'team:steered': {
      const { action, accepted } = event.data
      if (accepted && action.do === 'say') addUserMessage(owner, toPersonMessage(action))
      return
    }
    case 'team:compress':
      if (event.data.error === undefined) addSummary(owner)
      return
    case 'team:complete':
      addSubTeamEnd(teams, owner)
      return
    default:
  }
}

/** The agreed text of a consensus group is in the handoff after it; the answers of parallel members wait for each other. */
function addGroup(teams: JournalTeams, owner: RebuiltTeam, { data }: TeamEventOf<'team:group'>): void {
  const { round, group, kind, members } = data
  const key = `${owner.prefix}round/${round}/group`
  if (kind === 'parallel') {
    owner.groups.set(round, { members, messages: new Map() })
    return
  }
  const agreed = teams.agreed.get(`${owner.prefix}round/${round}`)
  if (agreed === undefined) return
  const message = toTeamMessage({ round }, { from: group, text: agreed, artifacts: artifactsUnder(teams, key) })
  setMessage(owner, key, message)
  setResponse(owner, [message])
}

/** The messages of sub-teams and groups that failed as a whole in a round that is over. */
function addFailedTurns(teams: JournalTeams, owner: RebuiltTeam, round: number): void {
  const isParallel = owner.groups.has(round)
  for (const each of teams.failed.get(`${owner.prefix}round/${round}`) ?? []) {
    const turn = failedTurn(teams, owner, { ...each, round })
    if (!owner.byKey.has(turn.key))
      addTurnMessage(owner, { ...turn, round, member: isParallel ? each.member : undefined })
  }
}

function failedTurn(
  teams: JournalTeams,
  owner: RebuiltTeam,
  { member, error, round }: { member: string; error: string; round: number },
): Pick<TurnMessage, 'key' | 'message'> {
  const isGroup = owner.plan.team.groups?.some(({ name }) => name === member)
  const step = owner.turns.get(round) === member ? (isGroup ? 'group' : 'team') : `group/member/${member}`
  const key = `${owner.prefix}round/${round}/${step}`
  const spoken = { from: member, artifacts: artifactsUnder(teams, key) }
  return { key, message: toTeamMessage({ round }, spoken, { error: { message: error } }) }
}

function addSessionEnd(teams: JournalTeams, data: EventOf<'session:end'>['data']): void {
  const owner = teams.owner(data.key)
  if (!owner) return
  const path = data.key.slice(owner.prefix.length)
  if (/^round\/\d+\/compress\/summary(\/fallback)?$/.test(path)) {
    if (data.status === 'completed') owner.summary = data.text
    return
  }
  const [, number = '', member] = /^round\/(\d+)\/(?:agent|group\/member\/(.+))$/.exec(path) ?? []
  const round = Number(number)
  const agent = member ?? owner.turns.get(round)
  if (number === '' || agent === undefined || (member !== undefined && !owner.groups.has(round))) return
  const { text: answer } = parseTurnOutput(data.text, data.object, { conditions: [], outputs: {} })
  const artifacts = artifactsUnder(teams, data.key)
  const wantsObject = data.object !== undefined
  const { message } = toAgentMessage({ round }, { agent, session: data, answer, wantsObject, artifacts })
  addTurnMessage(owner, { round, member, key: data.key, message })
}

interface TurnMessage {
  round: number
  /** The name of a member of a group. */
  member: string | undefined
  key: string
  message: ReturnType<typeof toTeamMessage>
}

function addTurnMessage(owner: RebuiltTeam, { round, member, key, message }: TurnMessage): void {
  const group = member === undefined ? undefined : owner.groups.get(round)
  if (!group || member === undefined) {
    setMessage(owner, key, message)
    setResponse(owner, [message])
    return
  }
  group.messages.set(member, { key, message })
  const all = group.members.flatMap((name) => group.messages.get(name) ?? [])
  if (all.length < group.members.length) return
  for (const each of all) setMessage(owner, each.key, each.message)
  setResponse(
    owner,
    all.map((each) => each.message),
  )
}

/** What a person replied to a team, or said as a member of it. */
function addAnswer(teams: JournalTeams, { gate_id, answer }: EventOf<'gate:answer'>['data']): void {
  const question = teams.questions.get(gate_id)
  const { kind, as: name } = (question?.detail ?? {}) as { kind?: unknown; as?: unknown }
  const owner = question && teams.owner(question.key)
  const message = parseAnswerMessage(answer)
  if (!owner || typeof message === 'string') return
  if (kind === 'reply' && message) addUserMessage(owner, message)
  if (kind !== 'person' || typeof name !== 'string') return
  const { round } = owner
  const member = owner.groups.has(round) ? name : undefined
  const key = `${owner.prefix}round/${round}/${member === undefined ? 'human' : `group/member/${name}`}`
  addTurnMessage(owner, {
    round,
    member,
    key,
    message: { from: name, person: true, round, ...(message ?? { text: '' }) },
  })
}

function addSummary(owner: RebuiltTeam): void {
  const { conversation, record } = owner
  const artifacts = [...owner.artifacts.values()].flat()
  const summary = summaryMessage({ handoffs: record.handoffs, artifacts }, owner.summary)
  conversation.messages.splice(0, conversation.messages.length, ...summarizedMessages(owner, summary))
}

/** The last answer of a sub-team is its message in the team above. */
function addSubTeamEnd(teams: JournalTeams, owner: RebuiltTeam): void {
  const key = owner.prefix.slice(0, -1)
  const above = key === '' ? undefined : teams.owner(parentStepKey(key))
  const [, number = '', member] =
    /^round\/(\d+)\/(?:team|group\/member\/(.+))$/.exec(key.slice(above?.prefix.length ?? 0)) ?? []
  const round = Number(number)
  const from = member ?? above?.turns.get(round)
  if (!above || from === undefined) return
  const message = toTeamMessage({ round }, { from, text: owner.response, artifacts: artifactsUnder(teams, key) })
  addTurnMessage(above, { round, member, key, message })
}
