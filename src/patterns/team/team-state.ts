import type { VariableValue } from '../../judgement/condition/condition-tree.ts'
import type { LoopDetector } from '../../judgement/loop.ts'
import { createLoopDetector } from '../../judgement/loop.ts'
import { USER } from '../../judgement/team/team-schema.ts'
import type { Context } from '../../kernel/context.ts'
import { Thread } from '../../kernel/thread.ts'
import type { HandoffRecord, HistoryEntry, TeamRunInput } from './input.ts'
import type { TeamMessage } from './prompts.ts'
import { toUserMessage } from './prompts.ts'
import type { TeamPlan } from './team-plan.ts'

/*
 * What a team has come to so far. It is made anew on every resume, from what the steps of the run say:
 * 1. nothing in it comes from anywhere else;
 * 2. a turn changes it in ways that do not depend on how many turns there were before.
 */
export interface TeamState {
  readonly context: Context
  readonly plan: TeamPlan
  readonly input: TeamRunInput
  /** What everyone reads. */
  readonly thread: Thread
  /** The lines of the thread, for whoever needs only the last of them. */
  readonly conversation: TeamMessage[]
  /** All that conditions can see: the team's own variables, and those that the runtime sets. */
  readonly conditionValues: Record<string, VariableValue>
  /** The team's own variables. */
  readonly variables: Record<string, VariableValue>
  readonly history: HistoryEntry[]
  readonly handoffs: HandoffRecord[]
  readonly artifacts: string[]
  readonly totals: { turns: number; router_calls: number; tokens: number }
  loopDetector: LoopDetector
  round: number
  /** Who had a turn since the user last spoke: how often, and in which round first. */
  readonly turnCounts: Map<string, { times: number; first: number }>
  /** Who has the turn, or had the last one: an agent or a group. Members of a group have no turn of their own. */
  currentMember: string
  /** Who had the last turns, the newest last; nobody twice in a row. */
  readonly recentSpeakers: string[]
  /** Whose turn failed and was not made good since, and who took over from it. */
  unresolvedFailure: { name: string; handler?: string } | undefined
  /** The entries of the history whose words led to the decision that holds now. */
  latestEntries: readonly HistoryEntry[]
  /** What was said in the last turn in which anything was. */
  response: string
  /** A person wants it to stop before the next turn. */
  pauseRequested: boolean
  /** A person asked for one turn and a pause after it, when so many rounds were over. */
  stepAfterRound: number | undefined
  /** Where the thread is compressed next, in bytes. */
  compressAtBytes: number
  /** The supervisor had its say since a person last spoke. */
  supervisorConsulted: boolean
}

const BYTES_PER_TOKEN = 4
const DEFAULT_CONTEXT_TOKENS = 100_000

/** How much of the conversation a team wants its members to read, in bytes. */
export function contextLimitBytes({ team }: TeamPlan): number {
  return (team.limits.context_tokens ?? DEFAULT_CONTEXT_TOKENS) * BYTES_PER_TOKEN
}

export function createTeamState(context: Context, plan: TeamPlan, input: TeamRunInput): TeamState {
  const variables = { ...plan.team.context_variables, ...input.variables }
  const system = [...plan.systemVariables].map(([name, type]) => [
    name,
    type === 'number' ? 0 : type === 'string' ? '' : false,
  ])
  return {
    context,
    plan,
    input,
    thread: new Thread(),
    conversation: [],
    conditionValues: { ...variables, ...(Object.fromEntries(system) as Record<string, VariableValue>) },
    variables,
    history: [],
    handoffs: [],
    artifacts: [],
    totals: { turns: 0, router_calls: 0, tokens: 0 },
    loopDetector: createLoopDetector(plan.team.limits),
    round: 0,
    turnCounts: new Map(),
    currentMember: '',
    recentSpeakers: [],
    unresolvedFailure: undefined,
    latestEntries: [],
    response: '',
    pauseRequested: false,
    stepAfterRound: undefined,
    compressAtBytes: contextLimitBytes(plan),
    supervisorConsulted: false,
  }
}

export function appendMessage(floor: TeamState, line: TeamMessage): void {
  floor.conversation.push(line)
  floor.thread.add(toUserMessage(line))
}

export function setVariable(floor: TeamState, name: string, value: VariableValue): void {
  floor.variables[name] = value
  floor.conditionValues[name] = value
}

/** The work is with this one now. An error is taken care of once its handler has passed the work to another agent. */
export function startRound(floor: TeamState, name: string): void {
  const { unresolvedFailure, plan } = floor
  floor.round += 1
  floor.currentMember = name
  if (!unresolvedFailure || name === unresolvedFailure.name) return
  if (unresolvedFailure.handler === undefined) unresolvedFailure.handler = name
  else if (name !== unresolvedFailure.handler && plan.member(name).kind !== 'human') floor.unresolvedFailure = undefined
}

/** One begins a turn: it counts as its load, whatever comes of it. */
export function recordTurnStart({ conditionValues, totals }: TeamState, name: string): void {
  conditionValues[`${name}_load`] = ((conditionValues[`${name}_load`] as number | undefined) ?? 0) + 1
  totals.turns += 1
}

/** One has had its turn. */
export function recordTurnEnd(floor: TeamState, name: string, failed: boolean): void {
  const { conditionValues, turnCounts, recentSpeakers } = floor
  conditionValues[`${name}_complete`] = !failed
  const before = turnCounts.get(name)
  turnCounts.set(name, { times: (before?.times ?? 0) + 1, first: before?.first ?? floor.round })
  // Who worked as a part of a group is not who had the work.
  if (name !== floor.currentMember) return
  if (recentSpeakers.at(-1) !== name) recentSpeakers.push(name)
  if (failed) floor.unresolvedFailure = { name }
  else if (floor.unresolvedFailure?.name === name) floor.unresolvedFailure = undefined
}

/** What the runtime knows at the moment one has spoken, for the rules that are tried now. */
export function updateSystemVariables(floor: TeamState, from: string, failed: boolean): void {
  const { conditionValues, round, turnCounts } = floor
  conditionValues.round = round
  if (from !== USER) conditionValues.last_agent = from
  conditionValues.error_detected = failed
  conditionValues.iteration_count = turnCounts.get(from)?.times ?? 0
}

/** Work that goes back to one who had it earlier than the one who hands it over is a revision. */
export function updateRevisionCount({ turnCounts, conditionValues }: TeamState, from: string, to: string): void {
  const [giver, taker] = [turnCounts.get(from), turnCounts.get(to)]
  if (giver && taker && taker.first < giver.first)
    conditionValues.revision_count = (conditionValues.revision_count as number) + 1
}

/** A person had a say: what goes round from here has not gone round yet. */
export function resetLoopDetection(floor: TeamState): void {
  floor.loopDetector.reset()
  floor.supervisorConsulted = false
}

/** The user spoke: what was complete, counted and failed before was about something else. */
export function resetAfterUserMessage(floor: TeamState): void {
  resetLoopDetection(floor)
  floor.turnCounts.clear()
  floor.unresolvedFailure = undefined
  floor.conditionValues.revision_count = 0
  for (const name of floor.plan.names) floor.conditionValues[`${name}_complete`] = false
}

/** For those who take care of an error the one that failed; else who had the turn before this one. */
export function resolvePreviousAgent(
  { unresolvedFailure, recentSpeakers }: TeamState,
  current: string,
): string | undefined {
  if (unresolvedFailure && unresolvedFailure.name !== current) return unresolvedFailure.name
  return recentSpeakers.findLast((name) => name !== current)
}
