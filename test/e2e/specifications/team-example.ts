import type { ScriptedReplies, ScriptedTeamRun } from '../scripted-team.ts'
import { runScriptedTeam } from '../scripted-team.ts'

/* The examples of the specification of teams, word for word, with nothing but `name` and `agents` added. */

export const exampleFile = (name: string): string => `test/e2e/specifications/team/${name}.yaml`

export function runExample(
  name: string,
  replies: ScriptedReplies,
  variables?: Record<string, number>,
): Promise<ScriptedTeamRun> {
  return runScriptedTeam(exampleFile(name), replies, variables)
}
