import type { Model, ModelRequest } from '../../src/entries/models.ts'
import type { Event, RunResult, SteerAction, Troupe, TroupeOptions } from '../../src/index.ts'
import { textFrom } from '../../src/kernel/model.ts'
import type { TeamOutput } from '../../src/patterns/team/input.ts'
import { agentModel } from './collaboration.ts'
import { eventData } from './manual-doubles.ts'
import { createTroupeWithStore, lastMessageText, runToEnd } from './test-troupe.ts'

/** A reply as text, as structured output, or as an error. */
export type TeamReply = string | { response: string; [field: string]: unknown } | Error

/** Replies by agent: a list by turn (the last one repeats), or a function of the turn and the request. */
export type TeamReplies = Record<string, readonly TeamReply[] | ((turn: number, request: ModelRequest) => TeamReply)>

/** A reply with verdicts on the semantic conditions, in order. */
export function replyWithVerdicts(response: string, ...holds: (boolean | null)[]): TeamReply {
  return { response, verdicts: holds.map((value, index) => ({ condition: index + 1, holds: value })) }
}

/** Router replies with a verdict per semantic condition; null where none is given. */
export function routerVerdicts(verdicts: Record<string, boolean>): (turn: number, request: ModelRequest) => TeamReply {
  return (_turn, request) => {
    const [, section = ''] = /<conditions>\n([\s\S]*)\n<\/conditions>/.exec(lastMessageText(request)) ?? []
    const conditions = [...section.matchAll(/^(\d+)\. (.*)$/gm)]
    const judged = conditions.map(([, number, text = '']) => ({
      condition: Number(number),
      holds: verdicts[text] ?? null,
    }))
    return { verdicts: judged } as unknown as TeamReply
  }
}

/** The conversation that the router judges. */
export function routedConversation(request: ModelRequest): unknown {
  return JSON.parse(/^\{.*\}$/m.exec(lastMessageText(request))?.[0] ?? 'null')
}

export function teamModel(replies: TeamReplies): ReturnType<typeof agentModel> {
  const agents = Object.entries(replies).map(([agent, own]) => {
    let turn = 0
    const reply = (request: ModelRequest): string => {
      turn += 1
      const found = typeof own === 'function' ? own(turn, request) : (own[turn - 1] ?? own.at(-1))
      if (found instanceof Error) throw found
      return typeof found === 'string' ? found : JSON.stringify(found)
    }
    return [agent, reply] as const
  })
  return agentModel(Object.fromEntries(agents))
}

export interface TeamRun {
  troupe: Troupe
  model: Model & { requests: ModelRequest[] }
  result: RunResult
  output: TeamOutput
  events: Event[]
  /** Agents in the order of their turns. */
  route: string[]
}

export interface TeamRunOptions extends TroupeOptions {
  message?: string
  variables?: Record<string, unknown>
}

/** Runs a team in memory until it ends or parks at a gate. */
export async function runTeam(team: unknown, replies: TeamReplies, options: TeamRunOptions = {}): Promise<TeamRun> {
  const { message = 'Please do it.', variables, ...rest } = options
  const model = teamModel(replies)
  const troupe = await createTroupeWithStore({ store: 'memory', model, ...rest })
  const result = await runToEnd(troupe, 'team' as string, { team, message, ...(variables ? { variables } : undefined) })
  return readTeamRun(troupe, model, result)
}

/** Runs a team and sends steer actions during the first turn of the named agent. */
export async function runSteeredTeam(
  team: unknown,
  replies: TeamReplies,
  [name, ...actions]: [string, ...SteerAction[]],
): Promise<TeamRun> {
  const model = teamModel(replies)
  const stream = model.stream.bind(model)
  const pending = [...actions]
  let troupe: Troupe | undefined
  model.stream = async function* (request, signal) {
    const { run_id, agent } = request.session
    while (troupe && agent === name && pending.length > 0) {
      await troupe.steer(run_id, pending.shift() as SteerAction)
      const count = actions.length - pending.length
      while ((await troupe.events(run_id).all()).filter(({ type }) => type === 'run:steer').length < count) {
        await new Promise<void>((resolve) => setImmediate(resolve))
      }
    }
    yield* stream(request, signal)
  }
  troupe = await createTroupeWithStore({ store: 'memory', model })
  return readTeamRun(troupe, model, await runToEnd(troupe, 'team' as string, { team, message: 'Go.' }))
}

export async function readTeamRun(troupe: Troupe, model: TeamRun['model'], result: RunResult): Promise<TeamRun> {
  const events = await troupe.events(result.run_id).all()
  return { troupe, model, result, output: result.output as TeamOutput, events, route: routeFrom(events) }
}

/** Answers the open gate and resumes the run. */
export async function answerQuestion(run: TeamRun, answer: unknown): Promise<TeamRun> {
  const [gate] = run.result.gates
  if (!gate) throw new Error('no open gate')
  const { result } = await run.troupe.answer(gate.gate_id, answer)
  return readTeamRun(run.troupe, run.model, await result)
}

export function routeFrom(events: readonly Event[]): string[] {
  return eventData(events, 'team:turn').map(({ agent }) => agent)
}

export function handoffsFrom(events: readonly Event[]) {
  return eventData(events, 'team:handoff')
}

/** Messages of the team conversation in a request, without the last one. */
export function conversationFrom({ messages }: ModelRequest): Record<string, unknown>[] {
  return messages.slice(0, -1).map((message) => JSON.parse(textFrom(message)) as Record<string, unknown>)
}

export function requestsFrom({ model }: TeamRun, agent: string): ModelRequest[] {
  return model.requests.filter(({ session }) => session.agent === agent)
}

/** Agent, text and handoff target of each history entry. */
export function historyRows({ output }: TeamRun) {
  return output.history.map(({ agent_name, parts, handoff_target }) => [agent_name, parts[0]?.text, handoff_target])
}

/** Sender, receiver and cause of each handoff. */
export function handoffSummary({ output }: TeamRun): string[] {
  return output.handoffs.map((each) => `${each.from} → ${each.to} ${each.by}`)
}

/** A team of three in which the first agent hands off to the second. */
export const trio = {
  name: 'Trio',
  agents: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
  handoffs: [{ from_agent: 'a', to_agent: 'b' }],
  after_work_behavior: 'terminate',
}
