import { onTestFinished } from 'vitest'
import { TroupeError } from '../../src/errors.ts'
import { readTeamTree } from '../../src/formats/team-tree.ts'
import type { ModelRequest } from '../../src/index.ts'
import type { TeamReplies, TeamReply, TeamRun } from '../support/team-harness.ts'
import { answerQuestion, handoffsFrom, runTeam } from '../support/team-harness.ts'
import { lastMessageText } from '../support/test-troupe.ts'

/* A team from its file, whose members have learnt their lines: what each says in its first turn, its second, and so on. */

export interface ScriptedReply {
  say: string
  /** The sentences of conditions that it judges to hold; it denies all others that it is asked. */
  holds?: readonly string[]
  sets?: Readonly<Record<string, number | string | boolean>>
  /** Its model fails instead. */
  fails?: string
}

export type ScriptedReplies = Readonly<Record<string, readonly (ScriptedReply | string)[]>>

export interface ScriptedTeamRun extends TeamRun {
  /** From, to and what decided, for every decision. */
  handoffs: { from: string; to: string | null; by: string }[]
  /** Answers the question that the team waits for, and plays on. */
  answer(answer: unknown): Promise<ScriptedTeamRun>
}

export async function runScriptedTeam(file: string, lines: ScriptedReplies): Promise<ScriptedTeamRun> {
  const { team, problems } = await readTeamTree(file)
  if (!team) throw new Error(`${file}: ${problems.map(({ message }) => message).join('; ')}`)
  const replies: TeamReplies = Object.fromEntries(
    Object.entries(lines).map(([name, cues]) => [name, (turn, request) => toTeamReply(cues[turn - 1], request)]),
  )
  const scene = await runTeam(team, replies, { embedder: false })
  onTestFinished(() => scene.troupe.close())
  return toScriptedRun(scene)
}

function toTeamReply(cue: ScriptedReply | string | undefined, request: ModelRequest): TeamReply {
  const { agent } = request.session
  if (cue === undefined) throw new TroupeError('script_miss', `${agent} has no line for this turn`)
  const { say, holds = [], sets = {}, fails } = typeof cue === 'string' ? { say: cue } : cue
  if (fails !== undefined) return new TroupeError('model_failed', fails, { retry: false })
  const asked = [...lastMessageText(request).matchAll(/^(\d+)\. (.*)$/gm)]
  // A line that judges what nobody asks has lost its rule.
  for (const sentence of holds) {
    if (!asked.some(([, , text]) => text === sentence)) throw new Error(`${agent} was not asked whether '${sentence}'`)
  }
  const verdicts = asked.map(([, number, text = '']) => ({ condition: Number(number), holds: holds.includes(text) }))
  const variables = Object.entries(sets).map(([name, value]) => ({ name, value }))
  return verdicts.length === 0 && variables.length === 0 ? say : { response: say, verdicts, variables, next: null }
}

function toScriptedRun(scene: TeamRun): ScriptedTeamRun {
  return {
    ...scene,
    handoffs: handoffsFrom(scene.events).map(({ from, to, by }) => ({ from, to, by })),
    answer: async (answer) => toScriptedRun(await answerQuestion(scene, answer)),
  }
}
