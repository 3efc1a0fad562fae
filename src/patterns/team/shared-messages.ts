import type { Artifact } from '../../kernel/artifact.ts'
import type { Event, EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { Message } from '../../kernel/model.ts'
import { responseText } from '../../views/response-text.ts'
import { parentStepKey } from '../../views/run-reducer.ts'
import type { TeamMessage } from './team-message.ts'
import { toUserMessage } from './team-message.ts'
import { teamDepth } from './team-view.ts'

/*
 * The shared conversation of a team from its journal, which does not store it. What the journal does not tell in so many words, such as a
 * summary or the agreed text of a group, is not rebuilt: the hash of the thread then shows that this is not what was sent.
 */

interface Rebuilt {
  messages: TeamMessage[]
  rounds: Map<string, { round: number; agent: string }>
  artifacts: Pick<Artifact, 'key' | 'name' | 'version'>[]
}

/** The messages that the sessions of the outermost team share after these events. */
export function sharedMessages(events: readonly Event[]): Message[] {
  const rebuilt: Rebuilt = { messages: [], rounds: new Map(), artifacts: [] }
  for (const event of events) addEvent(rebuilt, event)
  return rebuilt.messages.map(toUserMessage)
}

function addEvent(rebuilt: Rebuilt, event: Event): void {
  if (isEvent(event, 'run:start')) rebuilt.messages.push(...startMessages(event.data.input))
  else if (isEvent(event, 'artifact:write')) rebuilt.artifacts.push(event.data)
  else if (isEvent(event, 'session:end')) addTurn(rebuilt, event)
  else if (isEvent(event, 'gate:answer')) addReply(rebuilt, event)
  else if (isEvent(event, 'team:turn')) {
    const { key, round, agent } = event.data
    rebuilt.rounds.set(parentStepKey(key), { round: Number(round), agent: String(agent) })
  }
}

interface StartInput {
  message?: string
  attachments?: TeamMessage['attachments']
  before?: TeamMessage[]
}

function startMessages(input: unknown): TeamMessage[] {
  const { message: text = '', attachments, before = [] } = (input ?? {}) as StartInput
  return [...before, { from: 'user', text, ...(attachments ? { attachments } : undefined) }]
}

function addTurn({ messages, rounds, artifacts }: Rebuilt, { data }: EventOf<'session:end'>): void {
  const turn = rounds.get(parentStepKey(data.key))
  if (!turn || !data.key.endsWith('/agent') || teamDepth(data.key) > 0) return
  const { response } = (data.object ?? {}) as { response?: unknown }
  const written = artifacts.filter(({ key }) => key.startsWith(`${data.key}/`))
  messages.push({
    from: turn.agent,
    round: turn.round,
    text: typeof response === 'string' ? response : responseText(data.text),
    ...(data.status === 'completed' && data.stop_reason !== 'completed'
      ? { stop_reason: data.stop_reason }
      : undefined),
    ...(data.error ? { error: data.error.message } : undefined),
    artifacts: written.map(({ name, version }) => `${name}@${version}`),
  })
}

/** What a person replied to the team. */
function addReply({ messages, rounds }: Rebuilt, { data }: EventOf<'gate:answer'>): void {
  if (!/^reply\/\d+$/.test(data.key) || typeof data.answer !== 'string') return
  const round = Math.max(0, ...[...rounds.values()].map((each) => each.round))
  messages.push({ from: 'user', ...(round > 0 ? { round } : undefined), text: data.answer })
}
