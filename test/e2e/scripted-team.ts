import { onTestFinished } from 'vitest'
import type { ModelRequest } from '../../src/entries/models.ts'
import { TroupeError } from '../../src/errors.ts'
import { readTeamTree } from '../../src/formats/team-tree.ts'
import type { TeamReplies, TeamReply, TeamRun } from '../support/team-harness.ts'
import { answerQuestion, handoffsFrom, runTeam } from '../support/team-harness.ts'
import { lastMessageText } from '../support/test-troupe.ts'

/* Runs a team file with scripted replies per agent and turn. */

export interface ScriptedReply {
  text: string
  /** Semantic conditions that hold; all others in the request do not. */
  holds?: readonly string[]
  sets?: Readonly<Record<string, number | string | boolean>>
  /** Makes the model request fail with this message. */
  fails?: string
}

export type ScriptedReplies = Readonly<Record<string, readonly (ScriptedReply | string)[]>>

export interface ScriptedTeamRun extends TeamRun {
  /** Sender, receiver and cause of every handoff. */
  handoffs: { from: string; to: string | null; by: string }[]
  /** Answers the open gate and resumes the team. */
  answer(answer: unknown): Promise<ScriptedTeamRun>
}

export async function runScriptedTeam(
  file: string,
  scripted: ScriptedReplies,
  variables: Record<string, number> = {},
): Promise<ScriptedTeamRun> {
  const { team, problems } = await readTeamTree(file)
  if (!team) throw new Error(`${file}: ${problems.map(({ message }) => message).join('; ')}`)
  const replies: TeamReplies = Object.fromEntries(
    Object.entries(scripted).map(([name, turns]) => [name, (turn, request) => toTeamReply(turns[turn - 1], request)]),
  )
  const run = await runTeam(team, replies, { embedder: false, variables })
  onTestFinished(() => run.troupe.close())
  return toScriptedRun(run)
}

function toTeamReply(reply: ScriptedReply | string | undefined, request: ModelRequest): TeamReply {
  const { agent } = request.session
  if (reply === undefined) throw new TroupeError('script_miss', `no reply for this turn of ${agent}`)
  const { text, holds = [], sets = {}, fails } = typeof reply === 'string' ? { text: reply } : reply
  if (fails !== undefined) return new TroupeError('model_failed', fails, { retry: false })
  const conditions = [...lastMessageText(request).matchAll(/^(\d+)\. (.*)$/gm)]
  // A scripted verdict on a condition that is not in the request is outdated.
  for (const condition of holds) {
    if (!conditions.some(([, , found]) => found === condition))
      throw new Error(`the request of ${agent} has no condition '${condition}'`)
  }
  const verdicts = conditions.map(([, number, condition = '']) => ({
    condition: Number(number),
    holds: holds.includes(condition),
  }))
  const variables = Object.entries(sets).map(([name, value]) => ({ name, value }))
  return verdicts.length === 0 && variables.length === 0 ? text : { response: text, verdicts, variables, next: null }
}

function toScriptedRun(run: TeamRun): ScriptedTeamRun {
  return {
    ...run,
    handoffs: handoffsFrom(run.events).map(({ from, to, by }) => ({ from, to, by })),
    answer: async (answer) => toScriptedRun(await answerQuestion(run, answer)),
  }
}
