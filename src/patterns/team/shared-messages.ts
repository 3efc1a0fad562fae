import type { Event, EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { Message } from '../../kernel/model.ts'
import { withSummary } from './compress-conversation.ts'
import type { TeamEvent, TeamEventOf } from './events.ts'
import type { PersonMessage } from './human-questions.ts'
import { parseAnswerMessage, toPersonMessage } from './human-questions.ts'
import type { TeamRunInput } from './input.ts'
import type { RequestConversation } from './sub-team-context.ts'
import { priorMessages, subTeamMessages } from './sub-team-context.ts'
import type { TeamMessage } from './team-message.ts'
import { toUserMessage, toUserTeamMessage } from './team-message.ts'
import { spokenText, toTeamMessage } from './turn-message.ts'

/*
 * The shared conversation of a team from its journal: a `team:message` says who spoke, and the text is in the session or gate that it belongs to.
 * Journals of release 0.1.0 have no such events: the ends of sessions are taken instead. Where that is not what was sent, the hash of the thread shows it.
 */

type MessageData = TeamMessage & { key: string; round: number; replaces?: number[] }

/** The conversation of a team, which belongs to all keys that begin with its prefix. */
interface JournalConversation extends RequestConversation {
  readonly conversation: { readonly messages: TeamMessage[] }
  readonly plan: { team: { name: string } }
  /** By the key of their turn: a turn that is tried again replaces its own. */
  readonly byKey: Map<string, TeamMessage>
  /** The agents of the rounds. */
  readonly turns: Map<string, string>
  round: number
}

/** The messages that a session of a team, or of one of its sub-teams, began with. */
export function sharedMessages(events: readonly Event[], open: EventOf<'session:open'>): Message[] {
  const teams = new JournalConversations(events)
  for (const event of events) {
    if (event.seq >= open.seq) break
    teams.add(event)
  }
  return (teams.owner(open.data.key)?.conversation.messages ?? []).map(toUserMessage)
}

class JournalConversations {
  readonly #start: Event | undefined
  /** The teams by the prefix of their keys, the innermost first. */
  readonly #names: (readonly [prefix: string, name: string])[]
  /** The turns whose messages have events. */
  readonly #told: ReadonlySet<string>
  readonly #made = new Map<string, JournalConversation | undefined>()
  readonly #sessions = new Map<string, EventOf<'session:end'>['data']>()
  readonly #questions = new Map<string, EventOf<'gate:open'>['data']>()
  readonly #answers = new Map<string, PersonMessage>()

  constructor(events: readonly (Event | TeamEvent)[]) {
    this.#start = events.find((event): event is Event => event.type === 'run:start')
    this.#names = events
      .flatMap((event) =>
        event.type === 'team:start' ? [[event.data.key.slice(0, -'start'.length), event.data.team] as const] : [],
      )
      .toSorted(([one], [other]) => other.length - one.length)
    this.#told = new Set(events.flatMap((event) => (event.type === 'team:message' ? turnKey(event) : [])))
  }

  /** The conversation that a key belongs to; it begins with the first use. */
  owner(key: string): JournalConversation | undefined {
    const [prefix, name] = this.#names.find(([each]) => key.startsWith(each)) ?? ['', '']
    if (!this.#made.has(prefix))
      this.#made.set(prefix, prefix === '' ? this.#ofRun(name) : this.#ofSubTeam(prefix, name))
    return this.#made.get(prefix)
  }

  add(event: Event): void {
    if (isEvent(event, 'session:end')) this.#addSession(event.data)
    else if (isEvent(event, 'gate:open')) this.#questions.set(event.data.gate_id, event.data)
    else if (isEvent(event, 'gate:answer')) this.#addAnswer(event.data)
    else this.#addTeamEvent(event)
  }

  /** An earlier conversation comes before the request. */
  #ofRun(name: string): JournalConversation | undefined {
    const input = (isEvent(this.#start, 'run:start') ? (this.#start.data.input ?? {}) : {}) as Partial<TeamRunInput>
    const { message, attachments, before = [] } = input
    if (typeof message !== 'string') return undefined
    const request = toUserTeamMessage(0, toPersonMessage({ text: message, attachments }))
    return newConversation(name, { message, attachments }, [...priorMessages(before), request])
  }

  /** A sub-team works on the same request, and the latest messages of the team above come after it. */
  #ofSubTeam(prefix: string, name: string): JournalConversation | undefined {
    const above = this.owner(prefix.slice(0, -1))
    if (!above) return undefined
    const { before, attachments } = subTeamMessages(above)
    const { message } = above.input
    const request = toUserTeamMessage(0, toPersonMessage({ text: message, attachments }))
    return newConversation(name, { message, attachments }, [request, ...priorMessages(before)])
  }

  #addTeamEvent(event: Event | TeamEvent): void {
    const owner = event.type.startsWith('team:') ? this.owner((event as TeamEvent).data.key) : undefined
    if (!owner) return
    switch (event.type) {
      case 'team:turn':
        owner.round = event.data.round
        owner.turns.set(event.data.key.replace(/turn$/, ''), event.data.agent)
        return
      case 'team:message':
        this.#addMessage(owner, event)
        return
      case 'team:handoff': {
        const { key, from, agreed } = event.data
        if (agreed !== undefined && !this.#told.has(`${key}/group`))
          setMessage(owner, key, toTeamMessage(owner, { from, text: agreed, artifacts: [] }))
        return
      }
      case 'team:steered': {
        const { action, accepted } = event.data
        if (accepted && action.do === 'say')
          owner.conversation.messages.push(toUserTeamMessage(owner.round, toPersonMessage(action)))
        return
      }
      default:
    }
  }

  #addMessage(owner: JournalConversation, event: TeamEventOf<'team:message'>): void {
    const { key: _key, replaces, person, ...message } = event.data as MessageData
    const key = turnKey(event)
    const { round, ...summary } = message
    if (replaces) {
      const { messages } = owner.conversation
      messages.splice(0, messages.length, ...withSummary(messages, summary, new Set(replaces)))
      return
    }
    setMessage(
      owner,
      key,
      person ? { from: message.from, person, round, ...this.#answers.get(key) } : this.#turnMessage(event),
    )
  }

  #turnMessage(event: TeamEventOf<'team:message'>): TeamMessage {
    const { error, round, ...message } = event.data as MessageData
    const session = this.#sessions.get(turnKey(event))
    const text = message.text ?? (session && spokenText(session))
    const failure = error === undefined ? undefined : { error: { message: error } }
    return toTeamMessage({ round }, { ...message, ...(text === undefined ? undefined : { text }) }, failure)
  }

  #addSession(data: EventOf<'session:end'>['data']): void {
    const { key, error } = data
    this.#sessions.set(key, data)
    const [, turn, member] = /^(.*?round\/\d+\/)(?:agent|group\/member\/([^/]+))$/.exec(key) ?? []
    const owner = this.owner(key)
    if (turn === undefined || !owner || this.#told.has(key)) return
    const from = member ?? owner.turns.get(turn) ?? ''
    const spoken = { from, text: spokenText(data), artifacts: [] }
    setMessage(owner, key, toTeamMessage(owner, spoken, error ? { error } : undefined))
  }

  /** A person's reply to a team, or answer as a member of it. */
  #addAnswer({ gate_id, answer }: EventOf<'gate:answer'>['data']): void {
    const question = this.#questions.get(gate_id)
    const message = parseAnswerMessage(answer)
    if (!question || typeof message === 'string') return
    const { kind } = (question.detail ?? {}) as { kind?: unknown }
    const owner = this.owner(question.key)
    if (kind === 'reply' && message) owner?.conversation.messages.push(toUserTeamMessage(owner.round, message))
    // An answer that could not be delivered is asked for again, under a key of its own.
    if (kind === 'person')
      for (const key of [question.key, question.key.replace(/\/\d+$/, '')])
        this.#answers.set(key, message ?? { text: '' })
  }
}

function newConversation(
  name: string,
  { message, attachments }: { message: string; attachments?: TeamRunInput['attachments'] | undefined },
  messages: TeamMessage[],
): JournalConversation {
  return {
    plan: { team: { name } },
    input: { message, ...(attachments ? { attachments } : undefined) },
    conversation: { messages },
    ...{ byKey: new Map(), turns: new Map(), round: 0 },
  }
}

function turnKey({ data: { key } }: TeamEventOf<'team:message'>): string {
  return key.replace(/-message$/, '')
}

function setMessage(
  { conversation: { messages }, byKey }: JournalConversation,
  key: string,
  message: TeamMessage,
): void {
  const earlier = byKey.get(key)
  const place = earlier ? messages.indexOf(earlier) : -1
  if (place === -1) messages.push(message)
  else messages[place] = message
  byKey.set(key, message)
}
