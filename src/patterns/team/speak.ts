import type { ErrorRecord } from '../../errors.ts'
import { asTroupeError, TroupeError } from '../../errors.ts'
import type { Value } from '../../judgement/condition/tree.ts'
import type { Verdict } from '../../judgement/handoff.ts'
import type { StopReason } from '../../kernel/event.ts'
import { isFatal } from '../../kernel/fatal.ts'
import type { SessionResult } from '../../kernel/session.ts'
import { answerSchema, readAnswer } from './answer.ts'
import { askPerson } from './choice.ts'
import type { Floor } from './floor.ts'
import { beginTurn, endTurn, say, setVariable } from './floor.ts'
import { toldToTeam } from './handed-down.ts'
import type { TeamOutput } from './input.ts'
import type { Member } from './plan.ts'
import type { Line } from './prompts.ts'

/** What came of one turn, before anyone decides who goes on. */
export interface Spoken {
  text: string
  /** As the conversation has it: one line for each who spoke. */
  lines: readonly Line[]
  verdicts: ReadonlyMap<string, Verdict>
  variables: ReadonlyMap<string, Value>
  artifacts: readonly string[]
  /** Who the speaker thinks should go on. */
  next: unknown
  problems: readonly string[]
  failure?: Failure
  /** Nobody said it in these words: they were made of what several said. */
  joint?: true
}

export interface Failure {
  stop_reason: StopReason
  error: ErrorRecord
}

type Single = Exclude<Member, { kind: 'group' }>

/** The turn of one who is no group; `leaves` are the sentences it is asked to judge. */
export async function workOf(
  floor: Floor,
  member: Single,
  at: { key: string; leaves: readonly string[] },
): Promise<Spoken> {
  beginTurn(floor, member.name)
  if (member.kind === 'agent') return agentTurn(floor, member, at)
  if (member.kind === 'human') return personTurn(floor, member, at.key)
  return teamTurn(floor, member, at.key)
}

/** Lets the floor take note of what one said: the conversation, its variables, its artifacts. */
export function noteTurn(floor: Floor, name: string, spoken: Spoken): void {
  for (const [variable, value] of spoken.variables) setVariable(floor, variable, value)
  floor.artifacts.push(...spoken.artifacts)
  for (const line of spoken.lines) say(floor, line)
  endTurn(floor, name, spoken.failure !== undefined)
}

async function agentTurn(
  floor: Floor,
  { name, agent, part }: Extract<Member, { kind: 'agent' }>,
  { key, leaves }: { key: string; leaves: readonly string[] },
): Promise<Spoken> {
  const { context, plan, thread } = floor
  const asks = leaves.length > 0 || Object.keys(part.outputs).length > 0
  const request = {
    thread,
    instruction: plan.tail(part, leaves),
    ...(asks ? { output: answerSchema, words: true as const } : undefined),
  }
  const result = await context.perform(agent, request, { key })
  floor.totals.tokens += result.usage.input + result.usage.output
  // What one model counted is no bound for another.
  if (result.usage.calls === 1 && plan.oneModel) thread.count(result.usage.input)
  const { text, verdicts, variables, next, problems } = readAnswer(result.text, result.object, {
    leaves,
    outputs: part.outputs,
  })
  const artifacts = writtenAt(floor, key)
  const failure = result.status === 'completed' ? silence(name, result) : failureOf(result)
  const line = lineOf(floor, { from: name, text, artifacts, ...cutShort(result) }, failure)
  // What a turn that failed says beside its words was not meant as its last word.
  if (failure) return { ...nothing(), text, lines: [line], artifacts, failure }
  const cut = line.stop_reason === undefined ? [] : [`its answer was cut short: ${line.stop_reason}`]
  return { text, lines: [line], verdicts, variables, artifacts, next, problems: [...problems, ...cut] }
}

/** Why a session that has an answer ended, where that was not the end of its work. */
function cutShort({ status, stop_reason }: SessionResult): Pick<Line, 'stop_reason'> {
  return status === 'completed' && stop_reason !== 'completed' ? { stop_reason } : {}
}

/** One who was cut off before it said anything has not done its work, whatever others would make of an empty answer. */
function silence(name: string, { silent: step, stop_reason }: SessionResult): Failure | undefined {
  if (step === undefined) return undefined
  const error = new TroupeError('model_garbage', `${name} said nothing: it ended with ${stop_reason}`, {
    hint: 'resume asks it for its last word again; more turns are max_turns of the agent and limits.turns of the run',
    step,
  })
  return { stop_reason, error: error.toJSON() }
}

async function personTurn(
  floor: Floor,
  { name, role }: Extract<Member, { kind: 'human' }>,
  key: string,
): Promise<Spoken> {
  const { context, lines } = floor
  const last = lines.at(-1)
  const text = await askPerson(context, key, {
    question: last?.text ?? last?.error ?? floor.input.message,
    detail: { kind: 'person', as: name, ...(role === undefined ? undefined : { role }), from: last?.from ?? 'user' },
  })
  return { ...nothing(), text, lines: [{ from: name, person: true, round: floor.round, text }] }
}

async function teamTurn(floor: Floor, member: Extract<Member, { kind: 'team' }>, key: string): Promise<Spoken> {
  const { context, input, plan, variables } = floor
  const { team, name, outputs, takes } = member
  const given = Object.entries(variables).filter(
    ([variable, value]) => takes.has(variable) && (takes.get(variable) ?? typeof value) === typeof value,
  )
  const inner = { team, message: input.message, variables: Object.fromEntries(given), before: toldToTeam(floor) }
  try {
    const output = (await context.run('team', inner, { key, within: plan.team.name })) as TeamOutput
    floor.totals.tokens += output.totals.tokens
    floor.totals.router_calls += output.totals.router_calls
    const set = Object.entries(outputs).flatMap(([variable, type]): [string, Value][] => {
      const value = output.variables[variable]
      return typeof value === type && value !== undefined ? [[variable, value]] : []
    })
    const artifacts = writtenAt(floor, key)
    const line = lineOf(floor, { from: name, text: output.response, artifacts })
    return { ...nothing(), text: output.response, lines: [line], variables: new Map(set), artifacts }
  } catch (thrown) {
    const spoken = failedBelow(floor, name, { key, thrown })
    await countSpent(floor, key)
    return spoken
  }
}

/** Who failed has no output that says what it took: the run's own books do. */
export async function countSpent({ context, totals }: Floor, key: string): Promise<void> {
  const { input, output } = await context.spent(`${key}/spent`, { under: key })
  totals.tokens += input + output
}

/** A failure under a key as the failure of the member that stands there. */
export function failedBelow(floor: Floor, name: string, { key, thrown }: { key: string; thrown: unknown }): Spoken {
  const error = asTroupeError(thrown)
  if (isFatal(error) || error.code === 'cancelled') throw error
  const stop_reason = error.code === 'limit_reached' ? 'budget' : 'failed'
  const failure = { stop_reason, error: error.toJSON() } as const
  const artifacts = writtenAt(floor, key)
  return { ...nothing(), lines: [lineOf(floor, { from: name, artifacts }, failure)], artifacts, failure }
}

export function nothing(): Spoken {
  return {
    text: '',
    lines: [],
    verdicts: new Map(),
    variables: new Map(),
    artifacts: [],
    next: undefined,
    problems: [],
  }
}

export function writtenAt({ context }: Floor, key: string): string[] {
  return context.written(key).map(({ name, version }) => `${name}@${version}`)
}

export function lineOf({ round }: Floor, line: Line, failure?: Failure): Line {
  const { from, text, artifacts, stop_reason } = line
  return {
    from,
    round,
    ...(text === undefined ? undefined : { text }),
    ...(stop_reason === undefined ? undefined : { stop_reason }),
    ...(failure ? { error: failure.error.message } : undefined),
    ...(artifacts ? { artifacts } : undefined),
  }
}

export function failureOf({ stop_reason, error }: SessionResult): Failure {
  return { stop_reason, error: error ?? new TroupeError('internal', `the session ended: ${stop_reason}`).toJSON() }
}
