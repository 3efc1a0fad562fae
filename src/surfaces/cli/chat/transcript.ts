import type { Value } from '../../../judgement/condition/tree.ts'
import type { Team } from '../../../judgement/team/definition.ts'
import type { Event, EventOf } from '../../../kernel/event.ts'
import { inWords } from '../render/collaboration.ts'
import { told } from '../render/error.ts'
import { enclosing, hear, newStory } from '../render/story.ts'
import type { Story } from '../render/story-parts.ts'
import { teamsAbove, turnAt } from '../render/team-told.ts'
import type { Happening, OpenQuestion } from './happening.ts'

/*
 * The journal of a team as a conversation. A fold over events: everything that is shown, asked or explained while people
 * talk with a team is read from here, so that a conversation taken up again knows as much as one that never ended.
 */

export interface Transcript {
  story: Story
  /** Questions without an answer, the oldest first. */
  questions: Map<string, OpenQuestion>
  variables: Record<string, Value>
  /** The last decision, and before it the last handoff from member to member if that was not one. */
  handoffs: EventOf<'team:handoff'>['data'][]
  artifacts: { key: string; name: string; version: number; by: string }[]
  /** Who said what, the newest last. */
  said: { from: string; text: string; artifacts: string[] }[]
  /** How often each has spoken, members of groups too. */
  spoke: Map<string, number>
}

export function newTranscript(): Transcript {
  const [story, questions, spoke] = [newStory(), new Map(), new Map()]
  return { story, questions, variables: {}, handoffs: [], artifacts: [], said: [], spoke }
}

/** Takes an event in, and tells what of it belongs into a conversation. */
export function follow(transcript: Transcript, event: Event): Happening[] {
  hear(transcript.story, event)
  switch (event.type) {
    case 'run:start':
      return begun(transcript, event)
    case 'session:end':
      return spoken(transcript, event)
    case 'gate:open':
      return [{ type: 'question', ...asked(transcript, event) }]
    case 'gate:answer': {
      const { gate_id, answer, by } = event.data
      const question = transcript.questions.get(gate_id)
      if (question?.kind === 'reply') note(transcript, 'user', wordsIn(answer))
      if (question?.kind === 'person') note(transcript, question.as ?? 'user', wordsIn(answer))
      transcript.questions.delete(gate_id)
      return [{ type: 'answered', gate_id, answer, by }]
    }
    case 'artifact:write': {
      const { key, name, version, by } = event.data
      transcript.artifacts.push({ key, name, version, by })
      return [{ type: 'artifact', artifact: `${name}@${version}`, by }]
    }
    default:
      return ofTeam(transcript, event) ?? ofWork(transcript, event)
  }
}

function begun(transcript: Transcript, { data }: EventOf<'run:start'>): Happening[] {
  const { team, message, variables } = data.input as { team: Team; message: string; variables: Record<string, Value> }
  transcript.variables = { ...team.context_variables, ...variables }
  note(transcript, 'user', message)
  return []
}

function ofTeam(transcript: Transcript, event: Event): Happening[] | undefined {
  switch (event.type) {
    case 'team:start': {
      const inside = event.data.key !== 'start'
      return inside ? [] : [{ type: 'run', run_id: event.run_id, team: event.data.team, first: event.data.first }]
    }
    case 'team:turn': {
      const { key, round, agent } = event.data
      return [{ type: 'turn', round, agent: labelled(transcript, key, agent) }]
    }
    case 'team:handoff':
      return handedOver(transcript, event)
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
      const { action, by, taken, why } = event.data
      if (taken && action.do === 'set') transcript.variables[action.name] = action.value
      if (taken && action.do === 'say') note(transcript, 'user', action.text)
      return [{ type: 'steered', action, by, taken, ...(why === undefined ? undefined : { why }) }]
    }
    default:
      return undefined
  }
}

function handedOver(transcript: Transcript, { data }: EventOf<'team:handoff'>): Happening[] {
  const { round, from, to, by, handoff_reason: reason, problems = [], variables = {}, agreed } = data
  if (teamsAbove(data.key) === 0) {
    Object.assign(transcript.variables, variables)
    const passed = transcript.handoffs.findLast(isPassedOn)
    transcript.handoffs = isPassedOn(data) || !passed ? [data] : [passed, data]
  }
  const said: Happening[] = []
  if (agreed !== undefined) {
    note(transcript, from, agreed)
    said.push({ type: 'said', agent: labelled(transcript, data.key, from), round, text: agreed, artifacts: [] })
  }
  const within = labelled(transcript, data.key, '').slice(0, -1)
  const where = within === '' ? undefined : { within }
  return [...said, { type: 'handoff', round, from, to, by, reason, problems, ...where }]
}

/** From one member to another: neither to nor from the user, nor the end. */
function isPassedOn({ from, to }: { from: string; to: string | null }): boolean {
  return from !== 'user' && to !== 'user' && to !== null
}

const SPEAKS = /(^|\/)round\/\d+\/(agent|group\/member\/[^/]+)$/

/** True for sessions whose words are part of the conversation. */
export function speaks(key: string): boolean {
  return SPEAKS.test(key)
}

function spoken(transcript: Transcript, { data }: EventOf<'session:end'>): Happening[] {
  const { key, status, object, text, error } = data
  if (!speaks(key)) return []
  const { story } = transcript
  const agent = whoseCall(transcript, key)
  const said = responseIn(object) ?? inWords(text)
  const artifacts = transcript.artifacts
    .filter((artifact) => artifact.key.startsWith(`${key}/`))
    .map(({ name, version }) => `${name}@${version}`)
  if (status === 'completed') note(transcript, agent, said, artifacts)
  transcript.spoke.set(agent, (transcript.spoke.get(agent) ?? 0) + 1)
  const round = turnAt(story.team, key)?.turn.round ?? 0
  const failed = error ? { error: told(error) } : undefined
  return [{ type: 'said', agent: labelled(transcript, key, agent), round, text: said, artifacts, ...failed }]
}

function responseIn(object: unknown): string | undefined {
  const { response } = (typeof object === 'object' && object !== null ? object : {}) as { response?: unknown }
  return typeof response === 'string' ? response : undefined
}

/** The name with those of the teams that it works in: `research/finder`. */
export function labelled(transcript: Transcript, key: string, name: string): string {
  const parts = key.split('/team/')
  const above = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/team/'))
  return [...above.flatMap((place) => transcript.story.team.turns.get(place)?.agent ?? []), name].join('/')
}

const KEPT = 40

function note({ said }: Transcript, from: string, text: string, artifacts: string[] = []): void {
  if (text.trim() === '') return
  said.push({ from, text, artifacts })
  if (said.length > KEPT) said.shift()
}

interface GateDetail {
  kind?: string
  permission?: string
  input?: unknown
  answers?: string[]
  takes?: string[]
  as?: string
}

function asked(transcript: Transcript, { data }: EventOf<'gate:open'>): OpenQuestion {
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
export function wordsIn(answer: unknown): string {
  if (typeof answer === 'string') return answer
  const { do: action, text } = (typeof answer === 'object' && answer !== null ? answer : {}) as {
    do?: unknown
    text?: unknown
  }
  if (action === 'stop') return ''
  return typeof text === 'string' ? text : (JSON.stringify(answer) ?? '')
}

/** What agents do beside talking, and what goes wrong. */
function ofWork(transcript: Transcript, event: Event): Happening[] {
  if (event.type === 'tool:pre') {
    const { tool, input } = event.data
    return [{ type: 'tool', agent: whoseCall(transcript, event.data.key), tool, input }]
  }
  if (event.type === 'tool:error') {
    const { tool, error } = event.data
    return [{ type: 'tool', agent: whoseCall(transcript, event.data.key), tool, input: null, error }]
  }
  // One that is not tried again ends the turn, which tells it.
  if (event.type === 'model:error' && event.data.next) {
    return [{ type: 'trouble', agent: whoseCall(transcript, event.data.key), message: told(event.data.error) }]
  }
  if (event.type === 'limit:hit') {
    const { key, limit, used, max } = event.data
    return [{ type: 'trouble', agent: whoseCall(transcript, key), message: `limit ${limit}: ${used} of ${max}` }]
  }
  return []
}

function whoseCall({ story }: Transcript, key: string): string {
  return enclosing(story, key, 'session')?.agent ?? ''
}
