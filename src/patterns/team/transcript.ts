import type { ErrorRecord } from '../../errors.ts'
import type { Attachment } from '../../kernel/attachment.ts'
import type { Event, EventOf } from '../../kernel/event.ts'
import { responseText } from '../../views/content-text.ts'
import type { RunView } from '../../views/run-view.ts'
import { findEnclosing, newRunView, reduceRun } from '../../views/run-view.ts'
import { dropOldestAttachments } from './carried-attachments.ts'
import type { ChatEvent, OpenQuestion } from './chat-event.ts'
import type { TeamEvent, TeamEventOf } from './events.ts'
import type { TeamView } from './team-view.ts'
import { findTurn, newTeamView, reduceTeam, teamEventDepth } from './team-view.ts'

/*
 * Reduces the journal of a team to a conversation. A chat keeps no other state about the run, so a resumed chat knows
 * as much as one that was never closed.
 */

export interface Transcript {
  run: RunView
  team: TeamView
  /** Open questions, oldest first. */
  questions: Map<string, OpenQuestion>
  /** The last handoff; preceded by the last handoff between members if it is not one itself. */
  handoffs: TeamEventOf<'team:handoff'>['data'][]
  artifacts: { key: string; name: string; version: number }[]
  /** Newest last, at most `MESSAGES_KEPT`. */
  messages: TranscriptMessage[]
}

export interface TranscriptMessage {
  from: string
  text: string
  artifacts: string[]
  attachments?: Attachment[]
}

export function newTranscript(): Transcript {
  const questions = new Map()
  return { run: newRunView(), team: newTeamView(), questions, handoffs: [], artifacts: [], messages: [] }
}

/** Updates the transcript in place and returns the chat events that follow from the journal event. */
export function reduceTranscript(transcript: Transcript, event: Event): ChatEvent[] {
  reduceRun(transcript.run, event)
  reduceTeam(transcript.team, event)
  switch (event.type) {
    case 'run:start':
      return reduceRunStart(transcript, event)
    case 'session:end':
      return reduceSessionEnd(transcript, event)
    case 'gate:open':
      return [{ type: 'question', ...addQuestion(transcript, event) }]
    case 'gate:answer': {
      const { gate_id, answer, by } = event.data
      const question = transcript.questions.get(gate_id)
      if (question?.kind === 'reply') addMessage(transcript, { from: 'user', ...gateAnswerMessage(answer) })
      if (question?.kind === 'person')
        addMessage(transcript, { from: question.as ?? 'user', ...gateAnswerMessage(answer) })
      transcript.questions.delete(gate_id)
      return [{ type: 'answered', gate_id, answer, by }]
    }
    case 'artifact:write': {
      const { key, name, version, by } = event.data
      transcript.artifacts.push({ key, name, version })
      return [{ type: 'artifact', artifact: `${name}@${version}`, by }]
    }
    default:
      return reduceTeamEvent(transcript, event) ?? workEvents(transcript, event)
  }
}

function reduceRunStart(transcript: Transcript, { data }: EventOf<'run:start'>): ChatEvent[] {
  const { message, attachments } = data.input as { message: string; attachments?: Attachment[] }
  addMessage(transcript, { from: 'user', text: message, attachments })
  return []
}

function reduceTeamEvent(transcript: Transcript, event: Event | TeamEvent): ChatEvent[] | undefined {
  switch (event.type) {
    case 'team:start': {
      const inside = event.data.key !== 'start'
      return inside ? [] : [{ type: 'run', run_id: event.run_id, team: event.data.team, first: event.data.first }]
    }
    case 'team:turn': {
      const { key, round, agent } = event.data
      return [{ type: 'turn', round, agent: nestedAgentName(transcript, key, agent) }]
    }
    case 'team:handoff':
      return reduceHandoff(transcript, event)
    case 'team:group': {
      const { round, group, kind, members } = event.data
      return [{ type: 'group', round, group, kind, members }]
    }
    case 'team:loop':
      return [{ type: 'loop', round: event.data.round, kind: event.data.kind, message: event.data.message }]
    case 'team:compress': {
      const { round, messages, error } = event.data
      return [{ type: 'compress', round, messages, ...(error === undefined ? undefined : { error }) }]
    }
    case 'team:steered': {
      const { action, by, accepted, reason } = event.data
      if (accepted && action.do === 'say')
        addMessage(transcript, { from: 'user', text: action.text, attachments: action.attachments })
      return [{ type: 'steered', action, by, accepted, ...(reason === undefined ? undefined : { reason }) }]
    }
    default:
      return undefined
  }
}

function reduceHandoff(transcript: Transcript, { data }: TeamEventOf<'team:handoff'>): ChatEvent[] {
  const { round, from, to, by, handoff_reason: reason, problems = [], agreed } = data
  if (teamEventDepth(data.key) === 0) {
    const previous = transcript.handoffs.findLast(isMemberHandoff)
    transcript.handoffs = isMemberHandoff(data) || !previous ? [data] : [previous, data]
  }
  const messages: ChatEvent[] = []
  if (agreed !== undefined) {
    addMessage(transcript, { from, text: agreed })
    messages.push({
      type: 'message',
      agent: nestedAgentName(transcript, data.key, from),
      round,
      text: agreed,
      artifacts: [],
    })
  }
  const within = nestedAgentName(transcript, data.key, '').slice(0, -1)
  return [
    ...messages,
    { type: 'handoff', round, from, to, by, reason, problems, ...(within === '' ? undefined : { within }) },
  ]
}

/** Whether both ends are members: neither the user nor the end of the work. */
function isMemberHandoff({ from, to }: { from: string; to: string | null }): boolean {
  return from !== 'user' && to !== 'user' && to !== null
}

const MESSAGE_KEY = /(^|\/)round\/\d+\/(agent|group\/member\/[^/]+)$/

/** Whether the text of a session with this key is part of the conversation. */
export function isMessageKey(key: string): boolean {
  return MESSAGE_KEY.test(key)
}

function reduceSessionEnd(transcript: Transcript, { data }: EventOf<'session:end'>): ChatEvent[] {
  const { key, status, object, text, error } = data
  if (!isMessageKey(key)) return []
  const agent = agentFor(transcript, key)
  const response = responseFrom(object) ?? responseText(text)
  const artifacts = transcript.artifacts
    .filter((artifact) => artifact.key.startsWith(`${key}/`))
    .map(({ name, version }) => `${name}@${version}`)
  if (status === 'completed') addMessage(transcript, { from: agent, text: response, artifacts })
  const round = findTurn(transcript.team, key)?.turn.round ?? 0
  const failed = error ? { error: errorText(error) } : undefined
  return [
    { type: 'message', agent: nestedAgentName(transcript, key, agent), round, text: response, artifacts, ...failed },
  ]
}

/** Not sanitised: renderers strip control characters. */
function errorText({ code, message }: Pick<ErrorRecord, 'code' | 'message'>): string {
  return `${code}: ${message}`
}

function responseFrom(object: unknown): string | undefined {
  const { response } = (typeof object === 'object' && object !== null ? object : {}) as { response?: unknown }
  return typeof response === 'string' ? response : undefined
}

/** The agent's name prefixed with its nested teams: `research/finder`. */
export function nestedAgentName(transcript: Transcript, key: string, name: string): string {
  const parts = key.split('/team/')
  const above = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/team/'))
  return [...above.flatMap((place) => transcript.team.turns.get(place)?.agent ?? []), name].join('/')
}

const MESSAGES_CARRIED = 20

/** The messages of an ended run that the next one receives as `before`, with the newest files that fit next to those of its request. */
export function messagesToCarry(
  messages: readonly TranscriptMessage[],
  request: readonly Attachment[],
): TranscriptMessage[] {
  return dropOldestAttachments(messages.slice(-MESSAGES_CARRIED), request)
}

const MESSAGES_KEPT = 40

function addMessage(
  { messages }: Transcript,
  {
    from,
    text,
    artifacts = [],
    attachments,
  }: { from: string; text: string; artifacts?: string[]; attachments?: Attachment[] | undefined },
): void {
  if (text.trim() === '') return
  messages.push({ from, text, artifacts, ...(attachments ? { attachments } : undefined) })
  if (messages.length > MESSAGES_KEPT) messages.shift()
}

interface GateDetail {
  kind?: string
  permission?: string
  input?: unknown
  change?: unknown
  answers?: string[]
  takes?: string[]
  path?: string
  as?: string
}

function addQuestion(transcript: Transcript, { data }: EventOf<'gate:open'>): OpenQuestion {
  const { gate_id, question, choices, asked_by } = data
  const detail = (data.detail ?? {}) as GateDetail
  const answers = choices ?? detail.answers
  const openQuestion: OpenQuestion = {
    ...{
      gate_id,
      number: nextQuestionNumber(transcript),
      question,
      kind: detail.kind ?? (detail.permission === undefined ? 'question' : 'permission'),
    },
    ...(answers ? { answers } : undefined),
    ...(detail.takes ? { takes: detail.takes } : undefined),
    ...(detail.path === undefined ? undefined : { path: detail.path }),
    ...(detail.as === undefined ? undefined : { as: detail.as }),
    ...(asked_by === undefined ? undefined : { asked_by }),
    ...(detail.permission === undefined
      ? undefined
      : {
          call: detail.permission,
          input: detail.input,
          ...(detail.change === undefined ? undefined : { change: detail.change }),
        }),
  }
  transcript.questions.set(gate_id, openQuestion)
  return openQuestion
}

/** Numbers stay the same while a question is open, and start again when none is. */
function nextQuestionNumber({ questions }: Transcript): number {
  return Math.max(0, ...[...questions.values()].map(({ number }) => number)) + 1
}

function gateAnswerMessage(answer: unknown): { text: string; attachments?: Attachment[] | undefined } {
  const { attachments } = (typeof answer === 'object' && answer !== null ? answer : {}) as {
    attachments?: Attachment[]
  }
  return { text: gateAnswerText(answer), attachments }
}

/** The text of a gate's answer, which may be a steer action. */
export function gateAnswerText(answer: unknown): string {
  if (typeof answer === 'string') return answer
  const { do: action, text } = (typeof answer === 'object' && answer !== null ? answer : {}) as {
    do?: unknown
    text?: unknown
  }
  if (action === 'stop') return ''
  return typeof text === 'string' ? text : (JSON.stringify(answer) ?? '')
}

/** Tool calls, retries and limits. */
function workEvents(transcript: Transcript, event: Event | TeamEvent): ChatEvent[] {
  if (event.type === 'tool:pre') {
    const { tool, input } = event.data
    return [{ type: 'tool', agent: agentFor(transcript, event.data.key), tool, input }]
  }
  if (event.type === 'tool:error') {
    const { tool, error } = event.data
    return [{ type: 'tool', agent: agentFor(transcript, event.data.key), tool, input: null, error }]
  }
  // An error that is not retried ends the turn, and is reported there.
  if (event.type === 'model:error' && event.data.retry) {
    return [{ type: 'warning', agent: agentFor(transcript, event.data.key), message: errorText(event.data.error) }]
  }
  if (event.type === 'limit:hit') {
    const { key, limit, used, max } = event.data
    return [{ type: 'warning', agent: agentFor(transcript, key), message: `limit ${limit}: ${used} of ${max}` }]
  }
  return []
}

function agentFor({ run }: Transcript, key: string): string {
  return findEnclosing(run, key, 'session')?.agent ?? ''
}
