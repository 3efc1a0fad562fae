import { onTestFinished } from 'vitest'
import { TroupeError } from '../src/errors.ts'
import { readTeamFile } from '../src/formats/team-tree.ts'
import type { Event, ModelRequest, RunResult, Troupe } from '../src/index.ts'
import { createTroupe } from '../src/index.ts'
import type { Team } from '../src/judgement/team/definition.ts'
import { textOf } from '../src/kernel/model.ts'
import type { TeamOutput } from '../src/patterns/team/input.ts'
import type { Played } from './stage.ts'
import { playing } from './stage.ts'

/* A team whose members have learnt their lines: what each says in its first turn, its second, and so on. */

export interface Cue {
  say: string
  /** The sentences of conditions that it judges to hold; it denies all others that it is asked. */
  holds?: readonly string[]
  sets?: Readonly<Record<string, number | string | boolean>>
  /** Its model fails instead. */
  fails?: string
}

export type Lines = Readonly<Record<string, readonly (Cue | string)[]>>

export interface Performance {
  troupe: Troupe
  team: Team
  run_id: string
  result: RunResult
  /** Who had the turn, in order. */
  route: string[]
  /** From, to and what decided, for every decision. */
  handoffs: { from: string; to: string | null; by: string }[]
  /** Answers the question that the team waits for, and plays on. */
  reply(answer: unknown): Promise<Performance>
}

export async function perform(file: string, lines: Lines, more: { message?: string } = {}): Promise<Performance> {
  const { team, problems } = await readTeamFile(file)
  if (!team) throw new Error(`${file}: ${problems.map(({ message }) => message).join('; ')}`)
  const turns = new Map<string, number>()
  const model = playing((request) => {
    const { agent } = request.session
    const turn = turns.get(agent) ?? 0
    turns.set(agent, turn + 1)
    return spoken(lines[agent]?.[turn], request)
  })
  const troupe = await createTroupe({ store: 'memory', model, embedder: false })
  onTestFinished(() => troupe.close())
  const result = await troupe.run('team', { team, message: more.message ?? 'Begin.' })
  return performed(troupe, team, result)
}

function spoken(cue: Cue | string | undefined, request: ModelRequest): Played {
  const { agent } = request.session
  if (cue === undefined) throw new TroupeError('script_miss', `${agent} has no line for this turn`)
  const { say, holds = [], sets = {}, fails } = typeof cue === 'string' ? { say: cue } : cue
  if (fails !== undefined) throw new TroupeError('model_failed', fails, { retry: false })
  const asked = textOf(request.messages.at(-1) as never)
  const conditions = [...asked.matchAll(/^(\d+)\. (.*)$/gm)].map(([, number, text = '']) => ({
    condition: Number(number),
    holds: holds.includes(text),
  }))
  const variables = Object.entries(sets).map(([name, value]) => ({ name, value }))
  const plain = conditions.length === 0 && variables.length === 0
  return { text: plain ? say : JSON.stringify({ response: say, verdicts: conditions, variables, next: null }) }
}

async function performed(troupe: Troupe, team: Team, result: RunResult): Promise<Performance> {
  const events = await troupe.events(result.run_id)
  const own = events.filter(({ data }) => 'key' in data && !String(data.key).includes('/team/'))
  return {
    troupe,
    team,
    run_id: result.run_id,
    result,
    route: own.flatMap((event) => (event.type === 'team:turn' ? event.data.agent : [])),
    handoffs: own.flatMap(decision),
    async reply(answer) {
      const [gate] = result.gates
      const handle = await troupe.answer(gate?.gate_id ?? '', answer)
      return performed(troupe, team, await handle.result)
    },
  }
}

function decision(event: Event): Performance['handoffs'] {
  if (event.type !== 'team:handoff') return []
  const { from, to, by } = event.data
  return [{ from, to, by }]
}

export function outputOf({ result }: Performance): TeamOutput {
  return result.output as TeamOutput
}
