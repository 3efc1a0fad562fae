import type { Value } from '../../judgement/condition/tree.ts'
import type { LoopWatch } from '../../judgement/loop.ts'
import { loopWatch } from '../../judgement/loop.ts'
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
  /** Who had the last turns, the newest last; nobody twice in a row. */
  readonly speakers: string[]
  /** Whose turn failed and was not made good since. */
  failed: string | undefined
  /** A person asked for one turn at a time. */
  stepping: boolean
  /** Where the thread is compressed next, in bytes. */
  roomy: number
  /** The supervisor had its say since a person last spoke. */
  supervised: boolean
}

const TOKEN_BYTES = 4
const DEFAULT_TOKENS = 100_000

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
    speakers: [],
    failed: undefined,
    stepping: false,
    roomy: (plan.team.limits.context_tokens ?? DEFAULT_TOKENS) * TOKEN_BYTES,
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
  if (speakers.at(-1) !== name) speakers.push(name)
  if (failed) floor.failed = name
  else if (floor.failed === name) floor.failed = undefined
}

/** What the runtime knows at the moment one has spoken, for the rules that are tried now. */
export function noteFacts(floor: Floor, from: string, failed: boolean): void {
  const { values, round, spoken } = floor
  values.round = round
  values.last_agent = from
  values.error_detected = failed
  values.iteration_count = spoken.get(from)?.times ?? 0
}

/** Work that goes back to one who had it earlier than the one who hands it over is a revision. */
export function noteHandoff({ spoken, values }: Floor, from: string, to: string): void {
  const [giver, taker] = [spoken.get(from), spoken.get(to)]
  if (giver && taker && taker.first < giver.first) values.revision_count = (values.revision_count as number) + 1
}

/** The user spoke: what was complete, counted and repeated before was about something else. */
export function afterUser(floor: Floor): void {
  floor.spoken.clear()
  floor.watch.reset()
  floor.supervised = false
  floor.values.revision_count = 0
  for (const name of floor.plan.names) floor.values[`${name}_complete`] = false
}

/** After a failure the one that failed; else who spoke before this one. */
export function previousOf({ failed, speakers }: Floor, current: string): string | undefined {
  if (failed !== undefined && failed !== current) return failed
  return speakers.findLast((name) => name !== current)
}
