import type { Event, Model, ModelRequest, RunResult, SteerAction, Troupe, TroupeOptions } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { isEvent } from '../../src/kernel/event.ts'
import { textFrom } from '../../src/kernel/model.ts'
import type { TeamOutput } from '../../src/patterns/team/input.ts'
import { functionModel } from './test-troupe.ts'

/** What an agent answers: words, or what it says as the object that was asked for. */
export type TeamReply = string | { response: string; [field: string]: unknown } | Error

/** Replies by agent, in the order of its turns (the last one is repeated), or a function of the turn and the request. */
export type TeamReplies = Record<string, readonly TeamReply[] | ((turn: number, request: ModelRequest) => TeamReply)>

/** A reply that judges the sentences it was asked, in order. */
export function replyWithVerdicts(response: string, ...holds: (boolean | null)[]): TeamReply {
  return { response, verdicts: holds.map((value, index) => ({ condition: index + 1, holds: value })) }
}

/** A router that says of every sentence what this says of it; null unless told. */
export function routerVerdicts(verdicts: Record<string, boolean>): (turn: number, request: ModelRequest) => TeamReply {
  return (_turn, request) => {
    const asked = JSON.parse(lastRequestText(request)) as { conditions: { condition: number; text: string }[] }
    const judged = asked.conditions.map(({ condition, text }) => ({ condition, holds: verdicts[text] ?? null }))
    return { verdicts: judged } as unknown as TeamReply
  }
}

export function teamModel(replies: TeamReplies): Model & { requests: ModelRequest[] } {
  const turns = new Map<string, number>()
  return functionModel((request) => {
    const { agent } = request.session
    const turn = (turns.get(agent) ?? 0) + 1
    turns.set(agent, turn)
    const own = replies[agent]
    if (!own) throw new Error(`nothing planned for ${agent}`)
    const reply = typeof own === 'function' ? own(turn, request) : (own[turn - 1] ?? own.at(-1))
    if (reply instanceof Error) throw reply
    return { text: typeof reply === 'string' ? reply : JSON.stringify(reply) }
  })
}

export interface TeamRun {
  troupe: Troupe
  model: Model & { requests: ModelRequest[] }
  result: RunResult
  output: TeamOutput
  events: Event[]
  /** Who had a turn, in order. */
  route: string[]
}

export interface TeamRunOptions extends TroupeOptions {
  message?: string
  variables?: Record<string, unknown>
}

/** Runs a team in memory to its end or to a question. */
export async function runTeam(team: unknown, replies: TeamReplies, options: TeamRunOptions = {}): Promise<TeamRun> {
  const { message = 'Please do it.', variables, ...rest } = options
  const model = teamModel(replies)
  const troupe = await createTroupe({ store: 'memory', model, ...rest })
  const result = await troupe.run('team', { team, message, ...(variables ? { variables } : undefined) })
  return readTeamRun(troupe, model, result)
}

/** Plays a team, and lets a person ask these while the named agent has its first turn. */
export async function runSteeredTeam(
  team: unknown,
  replies: TeamReplies,
  [name, ...asked]: [string, ...SteerAction[]],
): Promise<TeamRun> {
  const model = teamModel(replies)
  const stream = model.stream.bind(model)
  const waiting = [...asked]
  let troupe: Troupe | undefined
  model.stream = async function* (request, signal) {
    const { run_id, agent } = request.session
    while (troupe && agent === name && waiting.length > 0) {
      await troupe.steer(run_id, waiting.shift() as SteerAction)
      const count = asked.length - waiting.length
      while ((await troupe.events(run_id)).filter(({ type }) => type === 'run:steer').length < count) {
        await new Promise<void>((resolve) => setImmediate(resolve))
      }
    }
    yield* stream(request, signal)
  }
  troupe = await createTroupe({ store: 'memory', model })
  return readTeamRun(troupe, model, await troupe.run('team', { team, message: 'Go.' }))
}

export async function readTeamRun(troupe: Troupe, model: TeamRun['model'], result: RunResult): Promise<TeamRun> {
  const events = await troupe.events(result.run_id)
  return { troupe, model, result, output: result.output as TeamOutput, events, route: routeFrom(events) }
}

/** Answers the one open question, and lets the run go on. */
export async function answerQuestion(scene: TeamRun, answer: unknown): Promise<TeamRun> {
  const [gate] = scene.result.gates
  if (!gate) throw new Error('no question is open')
  const { result } = await scene.troupe.answer(gate.gate_id, answer)
  return readTeamRun(scene.troupe, scene.model, await result)
}

export function routeFrom(events: readonly Event[]): string[] {
  return events.flatMap((event) => (isEvent(event, 'team:turn') ? event.data.agent : []))
}

export function handoffsFrom(events: readonly Event[]) {
  return events.flatMap((event) => (isEvent(event, 'team:handoff') ? event.data : []))
}

/** The last message, as the model reads it. */
export function lastRequestText({ messages }: ModelRequest): string {
  return textFrom(messages.at(-1))
}

/** The conversation that a request shows, message by message. */
export function conversationFrom({ messages }: ModelRequest): Record<string, unknown>[] {
  return messages.slice(0, -1).map((message) => JSON.parse(textFrom(message)) as Record<string, unknown>)
}

export function requestsFrom({ model }: TeamRun, agent: string): ModelRequest[] {
  return model.requests.filter(({ session }) => session.agent === agent)
}

/** Who said what, and to whom the work went after it. */
export function historyRows({ output }: TeamRun) {
  return output.history.map(({ agent_name, parts, handoff_target }) => [agent_name, parts[0]?.text, handoff_target])
}

/** Who handed to whom, and what decided it. */
export function handoffSummary({ output }: TeamRun): string[] {
  return output.handoffs.map((each) => `${each.from} → ${each.to} ${each.by}`)
}

/** Three, of which the first hands to the second. */
export const trio = {
  name: 'Trio',
  agents: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
  handoffs: [{ from_agent: 'a', to_agent: 'b' }],
  after_work_behavior: 'terminate',
}
