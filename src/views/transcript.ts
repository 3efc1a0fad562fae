import type { ErrorRecord } from '../errors.ts'
import type { VariableValue } from '../judgement/condition/condition-tree.ts'
import type { Team } from '../judgement/team/team-schema.ts'
import type { Event, EventOf } from '../kernel/event.ts'
import type { ChatEvent, OpenQuestion } from './chat-event.ts'
import { responseText } from './collaboration-view.ts'
import { findEnclosing, newRunView, reduceRun } from './run-reducer.ts'
import type { RunView } from './run-view.ts'
import { findTurn, teamDepth } from './team-view.ts'

/*
 * The journal of a team as a conversation. A fold over events: everything that is shown, asked or explained while people
 * talk with a team is read from here, so that a conversation taken up again knows as much as one that never ended.
 */

export interface Transcript {
  run: RunView
  /** Questions without an answer, the oldest first. */
  questions: Map<string, OpenQuestion>
  variables: Record<string, VariableValue>
  /** The last decision, and before it the last handoff from member to member if that was not one. */
  handoffs: EventOf<'team:handoff'>['data'][]
  artifacts: { key: string; name: string; version: number; by: string }[]
  /** Who said what, the newest last. */
  messages: { from: string; text: string; artifacts: string[] }[]
  /** How often each has spoken, members of groups too. */
  turnCounts: Map<string, number>
}

export function newTranscript(): Transcript {
  const [run, questions, turnCounts] = [newRunView(), new Map(), new Map()]
  return { run, questions, variables: {}, handoffs: [], artifacts: [], messages: [], turnCounts }
}

/** Takes an event in, and tells what of it belongs into a conversation. */
export function reduceTranscript(transcript: Transcript, event: Event): ChatEvent[] {
  reduceRun(transcript.run, event)
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
      if (question?.kind === 'reply') addMessage(transcript, 'user', gateAnswerText(answer))
      if (question?.kind === 'person') addMessage(transcript, question.as ?? 'user', gateAnswerText(answer))
      transcript.questions.delete(gate_id)
      return [{ type: 'answered', gate_id, answer, by }]
    }
    case 'artifact:write': {
      const { key, name, version, by } = event.data
      transcript.artifacts.push({ key, name, version, by })
      return [{ type: 'artifact', artifact: `${name}@${version}`, by }]
    }
    default:
      return reduceTeamEvent(transcript, event) ?? workEvents(transcript, event)
  }
}

function reduceRunStart(transcript: Transcript, { data }: EventOf<'run:start'>): ChatEvent[] {
  const { team, message, variables } = data.input as {
    team: Team
    message: string
    variables: Record<string, VariableValue>
  }
  transcript.variables = { ...team.context_variables, ...variables }
  addMessage(transcript, 'user', message)
  return []
}

function reduceTeamEvent(transcript: Transcript, event: Event): ChatEvent[] | undefined {
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
      if (accepted && action.do === 'set') transcript.variables[action.name] = action.value
      if (accepted && action.do === 'say') addMessage(transcript, 'user', action.text)
      return [{ type: 'steered', action, by, accepted, ...(reason === undefined ? undefined : { reason }) }]
    }
    default:
      return undefined
  }
}

function reduceHandoff(transcript: Transcript, { data }: EventOf<'team:handoff'>): ChatEvent[] {
  const { round, from, to, by, handoff_reason: reason, problems = [], variables = {}, agreed } = data
  if (teamDepth(data.key) === 0) {
    Object.assign(transcript.variables, variables)
    const passed = transcript.handoffs.findLast(isMemberHandoff)
    transcript.handoffs = isMemberHandoff(data) || !passed ? [data] : [passed, data]
  }
  const said: ChatEvent[] = []
  if (agreed !== undefined) {
    addMessage(transcript, from, agreed)
    said.push({
      type: 'message',
      agent: nestedAgentName(transcript, data.key, from),
      round,
      text: agreed,
      artifacts: [],
    })
  }
  const within = nestedAgentName(transcript, data.key, '').slice(0, -1)
  const where = within === '' ? undefined : { within }
  return [...said, { type: 'handoff', round, from, to, by, reason, problems, ...where }]
}

/** From one member to another: neither to nor from the user, nor the end. */
function isMemberHandoff({ from, to }: { from: string; to: string | null }): boolean {
  return from !== 'user' && to !== 'user' && to !== null
}

const SPEECH_KEY = /(^|\/)round\/\d+\/(agent|group\/member\/[^/]+)$/

/** True for sessions whose words are part of the conversation. */
export function isSpeechKey(key: string): boolean {
  return SPEECH_KEY.test(key)
}

function reduceSessionEnd(transcript: Transcript, { data }: EventOf<'session:end'>): ChatEvent[] {
  const { key, status, object, text, error } = data
  if (!isSpeechKey(key)) return []
  const { run } = transcript
  const agent = agentFor(transcript, key)
  const said = responseFrom(object) ?? responseText(text)
  const artifacts = transcript.artifacts
    .filter((artifact) => artifact.key.startsWith(`${key}/`))
    .map(({ name, version }) => `${name}@${version}`)
  if (status === 'completed') addMessage(transcript, agent, said, artifacts)
  transcript.turnCounts.set(agent, (transcript.turnCounts.get(agent) ?? 0) + 1)
  const round = findTurn(run.team, key)?.turn.round ?? 0
  const failed = error ? { error: errorText(error) } : undefined
  return [{ type: 'message', agent: nestedAgentName(transcript, key, agent), round, text: said, artifacts, ...failed }]
}

/** Unsanitised: renderers strip control characters. */
function errorText({ code, message }: Pick<ErrorRecord, 'code' | 'message'>): string {
  return `${code}: ${message}`
}

function responseFrom(object: unknown): string | undefined {
  const { response } = (typeof object === 'object' && object !== null ? object : {}) as { response?: unknown }
  return typeof response === 'string' ? response : undefined
}

/** The name with those of the teams that it works in: `research/finder`. */
export function nestedAgentName(transcript: Transcript, key: string, name: string): string {
  const parts = key.split('/team/')
  const above = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/team/'))
  return [...above.flatMap((place) => transcript.run.team.turns.get(place)?.agent ?? []), name].join('/')
}

const MESSAGES_KEPT = 40

function addMessage({ messages }: Transcript, from: string, text: string, artifacts: string[] = []): void {
  if (text.trim() === '') return
  messages.push({ from, text, artifacts })
  if (messages.length > MESSAGES_KEPT) messages.shift()
}

interface GateDetail {
  kind?: string
  permission?: string
  input?: unknown
  answers?: string[]
  takes?: string[]
  as?: string
}

function addQuestion(transcript: Transcript, { data }: EventOf<'gate:open'>): OpenQuestion {
  const { gate_id, question, choices, asked_by } = data
  const detail = (data.detail ?? {}) as GateDetail
  const answers = choices ?? detail.answers
  const found: OpenQuestion = {
    ...{ gate_id, question, kind: detail.kind ?? (detail.permission === undefined ? 'question' : 'permission') },
    ...(answers ? { answers } : undefined),
    ...(detail.takes ? { takes: detail.takes } : undefined),
    ...(detail.as === undefined ? undefined : { as: detail.as }),
    ...(asked_by === undefined ? undefined : { asked_by }),
    ...(detail.permission === undefined ? undefined : { call: detail.permission, input: detail.input }),
  }
  transcript.questions.set(gate_id, found)
  return found
}

/** The words of an answer, which may be what a person asked for elsewhere. */
export function gateAnswerText(answer: unknown): string {
  if (typeof answer === 'string') return answer
  const { do: action, text } = (typeof answer === 'object' && answer !== null ? answer : {}) as {
    do?: unknown
    text?: unknown
  }
  if (action === 'stop') return ''
  return typeof text === 'string' ? text : (JSON.stringify(answer) ?? '')
}

/** What agents do beside talking, and what goes wrong. */
function workEvents(transcript: Transcript, event: Event): ChatEvent[] {
  if (event.type === 'tool:pre') {
    const { tool, input } = event.data
    return [{ type: 'tool', agent: agentFor(transcript, event.data.key), tool, input }]
  }
  if (event.type === 'tool:error') {
    const { tool, error } = event.data
    return [{ type: 'tool', agent: agentFor(transcript, event.data.key), tool, input: null, error }]
  }
  // One that is not tried again ends the turn, which tells it.
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
