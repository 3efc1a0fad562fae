import { onTestFinished } from 'vitest'
import { TroupeError } from '../src/errors.ts'
import { readTeamFile } from '../src/formats/team-tree.ts'
import type { ModelRequest } from '../src/index.ts'
import type { Replies, Reply, Scene } from './team-scene.ts'
import { answering, handoffsIn, playTeam, textIn } from './team-scene.ts'

/* A team from its file, whose members have learnt their lines: what each says in its first turn, its second, and so on. */

export interface Cue {
  say: string
  /** The sentences of conditions that it judges to hold; it denies all others that it is asked. */
  holds?: readonly string[]
  sets?: Readonly<Record<string, number | string | boolean>>
  /** Its model fails instead. */
  fails?: string
}

export type Lines = Readonly<Record<string, readonly (Cue | string)[]>>

export interface Performance extends Scene {
  /** From, to and what decided, for every decision. */
  handoffs: { from: string; to: string | null; by: string }[]
  /** Answers the question that the team waits for, and plays on. */
  reply(answer: unknown): Promise<Performance>
}

export async function perform(file: string, lines: Lines): Promise<Performance> {
  const { team, problems } = await readTeamFile(file)
  if (!team) throw new Error(`${file}: ${problems.map(({ message }) => message).join('; ')}`)
  const replies: Replies = Object.fromEntries(
    Object.entries(lines).map(([name, cues]) => [name, (turn, request) => spoken(cues[turn - 1], request)]),
  )
  const scene = await playTeam(team, replies, { embedder: false })
  onTestFinished(() => scene.troupe.close())
  return performed(scene)
}

function spoken(cue: Cue | string | undefined, request: ModelRequest): Reply {
  const { agent } = request.session
  if (cue === undefined) throw new TroupeError('script_miss', `${agent} has no line for this turn`)
  const { say, holds = [], sets = {}, fails } = typeof cue === 'string' ? { say: cue } : cue
  if (fails !== undefined) return new TroupeError('model_failed', fails, { retry: false })
  const asked = [...textIn(request).matchAll(/^(\d+)\. (.*)$/gm)]
  // A line that judges what nobody asks has lost its rule.
  for (const sentence of holds) {
    if (!asked.some(([, , text]) => text === sentence)) throw new Error(`${agent} was not asked whether '${sentence}'`)
  }
  const verdicts = asked.map(([, number, text = '']) => ({ condition: Number(number), holds: holds.includes(text) }))
  const variables = Object.entries(sets).map(([name, value]) => ({ name, value }))
  return verdicts.length === 0 && variables.length === 0 ? say : { response: say, verdicts, variables, next: null }
}

function performed(scene: Scene): Performance {
  return {
    ...scene,
    handoffs: handoffsIn(scene.events).map(({ from, to, by }) => ({ from, to, by })),
    reply: async (answer) => performed(await answering(scene, answer)),
  }
}
