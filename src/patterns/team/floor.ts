import type { Value } from '../../judgement/condition/tree.ts'
import type { LoopWatch } from '../../judgement/loop.ts'
import { loopWatch } from '../../judgement/loop.ts'
import { USER } from '../../judgement/team/definition.ts'
import type { Context } from '../../kernel/context.ts'
import { Thread } from '../../kernel/thread.ts'
import type { HandoffRecord, HistoryEntry, TeamRunInput } from './input.ts'
import type { Plan } from './plan.ts'
import type { Line } from './prompts.ts'
import { lineMessage } from './prompts.ts'

/*
 * What a team has come to so far. It is made anew on every resume, from what the steps of the run say:
 * 1. nothing in it comes from anywhere else;
 * 2. a turn changes it in ways that do not depend on how many turns there were before.
 */
export interface Floor {
  readonly context: Context
  readonly plan: Plan
  readonly input: TeamRunInput
  /** What everyone reads. */
  readonly thread: Thread
  /** The lines of the thread, for whoever needs only the last of them. */
  readonly lines: Line[]
  /** All that conditions can see: the team's own variables, and those that the runtime sets. */
  readonly values: Record<string, Value>
  /** The team's own variables. */
  readonly variables: Record<string, Value>
  readonly history: HistoryEntry[]
  readonly handoffs: HandoffRecord[]
  readonly artifacts: string[]
  readonly totals: { turns: number; router_calls: number; tokens: number }
  watch: LoopWatch
  round: number
  /** Who had a turn since the user last spoke: how often, and in which round first. */
  readonly spoken: Map<string, { times: number; first: number }>
  /** Who has the turn, or had the last one: an agent or a group. Members of a group have no turn of their own. */
  turn: string
  /** Who had the last turns, the newest last; nobody twice in a row. */
  readonly speakers: string[]
  /** Whose turn failed and was not made good since, and who took over from it. */
  failed: { name: string; handler?: string } | undefined
  /** The entries of the history whose words led to the decision that holds now. */
  latest: readonly HistoryEntry[]
  /** What was said in the last turn in which anything was. */
  response: string
  /** A person wants it to stop before the next turn. */
  pausing: boolean
  /** A person asked for one turn and a pause after it, when so many rounds were over. */
  stepping: number | undefined
  /** Where the thread is compressed next, in bytes. */
  roomy: number
  /** The supervisor had its say since a person last spoke. */
  supervised: boolean
}

const TOKEN_BYTES = 4
const DEFAULT_TOKENS = 100_000

/** How much of the conversation a team wants its members to read, in bytes. */
export function roomIn({ team }: Plan): number {
  return (team.limits.context_tokens ?? DEFAULT_TOKENS) * TOKEN_BYTES
}

export function newFloor(context: Context, plan: Plan, input: TeamRunInput): Floor {
  const variables = { ...plan.team.context_variables, ...input.variables }
  const system = [...plan.system].map(([name, type]) => [name, type === 'number' ? 0 : type === 'string' ? '' : false])
  return {
    context,
    plan,
    input,
    thread: new Thread(),
    lines: [],
    values: { ...variables, ...(Object.fromEntries(system) as Record<string, Value>) },
    variables,
    history: [],
    handoffs: [],
    artifacts: [],
    totals: { turns: 0, router_calls: 0, tokens: 0 },
    watch: loopWatch(plan.team.limits),
    round: 0,
    spoken: new Map(),
    turn: '',
    speakers: [],
    failed: undefined,
    latest: [],
    response: '',
    pausing: false,
    stepping: undefined,
    roomy: roomIn(plan),
    supervised: false,
  }
}

export function say(floor: Floor, line: Line): void {
  floor.lines.push(line)
  floor.thread.add(lineMessage(line))
}

export function setVariable(floor: Floor, name: string, value: Value): void {
  floor.variables[name] = value
  floor.values[name] = value
}

/** The work is with this one now. An error is taken care of once its handler has passed the work to another agent. */
export function takeTurn(floor: Floor, name: string): void {
  const { failed, plan } = floor
  floor.round += 1
  floor.turn = name
  if (!failed || name === failed.name) return
  if (failed.handler === undefined) failed.handler = name
  else if (name !== failed.handler && plan.member(name).kind !== 'human') floor.failed = undefined
}

/** One begins a turn: it counts as its load, whatever comes of it. */
export function beginTurn({ values, totals }: Floor, name: string): void {
  values[`${name}_load`] = ((values[`${name}_load`] as number | undefined) ?? 0) + 1
  totals.turns += 1
}

/** One has had its turn. */
export function endTurn(floor: Floor, name: string, failed: boolean): void {
  const { values, spoken, speakers } = floor
  values[`${name}_complete`] = !failed
  const before = spoken.get(name)
  spoken.set(name, { times: (before?.times ?? 0) + 1, first: before?.first ?? floor.round })
  // Who worked as a part of a group is not who had the work.
  if (name !== floor.turn) return
  if (speakers.at(-1) !== name) speakers.push(name)
  if (failed) floor.failed = { name }
  else if (floor.failed?.name === name) floor.failed = undefined
}

/** What the runtime knows at the moment one has spoken, for the rules that are tried now. */
export function noteFacts(floor: Floor, from: string, failed: boolean): void {
  const { values, round, spoken } = floor
  values.round = round
  if (from !== USER) values.last_agent = from
  values.error_detected = failed
  values.iteration_count = spoken.get(from)?.times ?? 0
}

/** Work that goes back to one who had it earlier than the one who hands it over is a revision. */
export function noteHandoff({ spoken, values }: Floor, from: string, to: string): void {
  const [giver, taker] = [spoken.get(from), spoken.get(to)]
  if (giver && taker && taker.first < giver.first) values.revision_count = (values.revision_count as number) + 1
}

/** A person had a say: what goes round from here has not gone round yet. */
export function personSpoke(floor: Floor): void {
  floor.watch.reset()
  floor.supervised = false
}

/** The user spoke: what was complete, counted and failed before was about something else. */
export function afterUser(floor: Floor): void {
  personSpoke(floor)
  floor.spoken.clear()
  floor.failed = undefined
  floor.values.revision_count = 0
  for (const name of floor.plan.names) floor.values[`${name}_complete`] = false
}

/** For those who take care of an error the one that failed; else who had the turn before this one. */
export function previousOf({ failed, speakers }: Floor, current: string): string | undefined {
  if (failed && failed.name !== current) return failed.name
  return speakers.findLast((name) => name !== current)
}
