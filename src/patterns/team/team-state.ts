import type { VariableValue } from '../../judgement/condition/condition-tree.ts'
import type { LoopDetector } from '../../judgement/loop/handoff-loop.ts'
import { createLoopDetector } from '../../judgement/loop/handoff-loop.ts'
import { USER } from '../../judgement/team/team-schema.ts'
import { Thread } from '../../kernel/thread.ts'
import type { TeamContext } from './events.ts'
import type { HandoffRecord, HistoryEntry, TeamRunInput } from './input.ts'
import type { TeamMessage } from './team-message.ts'
import { toUserMessage } from './team-message.ts'
import type { TeamPlan } from './team-plan.ts'

/*
 * The state of a running team. It is not stored: every resume rebuilds it from the recorded steps.
 * 1. All of it derives from the input and from recorded steps.
 * 2. The cost of a turn does not grow with the number of earlier turns.
 */
export interface TeamState {
  readonly context: TeamContext
  readonly plan: TeamPlan
  readonly input: TeamRunInput
  readonly conversation: TeamConversation
  /** The variables of the team. */
  readonly variables: Record<string, VariableValue>
  /** The values conditions can use: the variables of the team and the system variables. */
  readonly conditionValues: Record<string, VariableValue>
  /** The names of the variables that a person has set by steering. */
  readonly personVariables: Set<string>
  readonly record: TeamRecord
  readonly turns: TurnTracker
  readonly loop: LoopState
  readonly pause: PauseState
  round: number
}

/** The conversation all members share. */
export interface TeamConversation {
  /** The messages as sent to the models. */
  readonly thread: Thread
  readonly messages: TeamMessage[]
  /** The size in bytes above which the conversation is compressed. */
  compressAtBytes: number
  /** False for a team that release 0.1.0 began: it goes on without `team:message`. */
  readonly isEmitted: boolean
}

/** The parts of the team's output that accumulate while it runs. */
export interface TeamRecord {
  readonly history: HistoryEntry[]
  readonly handoffs: HandoffRecord[]
  readonly artifacts: string[]
  readonly totals: { turns: number; router_calls: number; tokens: number }
  /** The history entries to which the next handoff belongs. */
  latestEntries: readonly HistoryEntry[]
  /** The text of the last turn that had any. */
  response: string
}

/** The turns of agents and groups. Members of a group have no turn of their own. */
export interface TurnTracker {
  /** Since the last user message, by member: the number of turns and the round of the first one. */
  readonly counts: Map<string, { times: number; first: number }>
  /** The member whose turn it is, or was last. */
  current: string
  /** The members of earlier turns, newest last, without direct repetition. */
  readonly recent: string[]
  /** The member whose turn failed without a recovery so far, and the member that handles the error. */
  failure: { name: string; handler?: string } | undefined
}

interface LoopState {
  readonly detector: LoopDetector
  /** True when the supervisor was asked since the last human message. */
  supervisorConsulted: boolean
}

interface PauseState {
  /** True when a person asked to pause before the next turn. */
  requested: boolean
  /** The round after which a single step ends with a pause. */
  stepAfterRound: number | undefined
}

const BYTES_PER_TOKEN = 4
const DEFAULT_CONTEXT_TOKENS = 100_000

/** `limits.context_tokens` of the team in bytes. */
export function contextLimitBytes({ team }: Pick<TeamPlan, 'team'>): number {
  return (team.limits.context_tokens ?? DEFAULT_CONTEXT_TOKENS) * BYTES_PER_TOKEN
}

const INITIAL_VALUES = { number: 0, string: '', boolean: false }

export function createTeamState(context: TeamContext, plan: TeamPlan, input: TeamRunInput): TeamState {
  const variables = { ...plan.team.context_variables, ...input.variables }
  const systemValues = [...plan.systemVariables].map(([name, type]) => [name, INITIAL_VALUES[type]] as const)
  return {
    context,
    plan,
    input,
    conversation: {
      ...{ thread: new Thread(), messages: [], compressAtBytes: contextLimitBytes(plan) },
      isEmitted: !context.isRecorded('start/at'),
    },
    variables,
    conditionValues: { ...variables, ...Object.fromEntries<VariableValue>(systemValues) },
    personVariables: new Set(),
    record: {
      history: [],
      handoffs: [],
      artifacts: [],
      totals: { turns: 0, router_calls: 0, tokens: 0 },
      latestEntries: [],
      response: '',
    },
    turns: { counts: new Map(), current: '', recent: [], failure: undefined },
    loop: { detector: createLoopDetector(plan.team.limits), supervisorConsulted: false },
    pause: { requested: false, stepAfterRound: undefined },
    round: 0,
  }
}

export function appendMessage({ conversation }: TeamState, message: TeamMessage): void {
  conversation.messages.push(message)
  conversation.thread.add(toUserMessage(message))
}

export function setVariable(state: TeamState, name: string, value: VariableValue): void {
  state.variables[name] = value
  state.conditionValues[name] = value
}

/** Starts the next round. A failure is resolved once its handler has passed the work to another agent. */
export function startRound(state: TeamState, name: string): void {
  const { turns, plan } = state
  const { failure } = turns
  state.round += 1
  turns.current = name
  if (!failure || name === failure.name) return
  if (failure.handler === undefined) failure.handler = name
  else if (name !== failure.handler && plan.member(name).kind !== 'human') turns.failure = undefined
}

/** Counts a turn in `<name>_load` and in the totals, even if it fails later. */
export function recordTurnStart({ conditionValues, record }: TeamState, name: string): void {
  conditionValues[`${name}_load`] = ((conditionValues[`${name}_load`] as number | undefined) ?? 0) + 1
  record.totals.turns += 1
}

export function recordTurnEnd({ conditionValues, turns, round }: TeamState, name: string, failed: boolean): void {
  conditionValues[`${name}_complete`] = !failed
  const earlier = turns.counts.get(name)
  turns.counts.set(name, { times: (earlier?.times ?? 0) + 1, first: earlier?.first ?? round })
  // The turn belongs to the group, not to its members.
  if (name !== turns.current) return
  if (turns.recent.at(-1) !== name) turns.recent.push(name)
  if (failed) turns.failure = { name }
  else if (turns.failure?.name === name) turns.failure = undefined
}

/** Sets the system variables that the rules from `from` can use. */
export function updateSystemVariables({ conditionValues, round, turns }: TeamState, from: string, failed: boolean) {
  conditionValues.round = round
  if (from !== USER) conditionValues.last_agent = from
  conditionValues.error_detected = failed
  conditionValues.iteration_count = turns.counts.get(from)?.times ?? 0
}

/** Counts a revision: a handoff back to a member whose first turn came before the sender's. */
export function updateRevisionCount({ turns, conditionValues }: TeamState, from: string, to: string): void {
  const sender = turns.counts.get(from)
  const receiver = turns.counts.get(to)
  if (sender && receiver && receiver.first < sender.first)
    conditionValues.revision_count = (conditionValues.revision_count as number) + 1
}

/** Restarts loop detection after a human message. */
export function resetLoopDetection({ loop }: TeamState): void {
  loop.detector.reset()
  loop.supervisorConsulted = false
}

/** A user message starts a new request: counters, `<name>_complete` and failures of the previous one no longer apply. */
export function resetAfterUserMessage(state: TeamState): void {
  const { turns, conditionValues, plan } = state
  resetLoopDetection(state)
  turns.counts.clear()
  turns.failure = undefined
  conditionValues.revision_count = 0
  for (const name of plan.names) conditionValues[`${name}_complete`] = false
}

/** The target of `previous_agent`: for an error handler the member that failed, else the member of the previous turn. */
export function resolvePreviousAgent({ turns }: TeamState, current: string): string | undefined {
  if (turns.failure && turns.failure.name !== current) return turns.failure.name
  return turns.recent.findLast((name) => name !== current)
}
