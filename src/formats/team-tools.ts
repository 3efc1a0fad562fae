import { nearest } from '../errors.ts'
import type { Team } from '../judgement/team/definition.ts'
import type { TeamProblem } from '../judgement/team/problem.ts'
import { warning } from '../judgement/team/problem.ts'
import { OUR_TOOLS, ourNames } from './tool-names.ts'

/** What agents have only by name, and other names of the same. */
const BY_NAME = ['collaborate', 'outcome', 'Task', 'Agent']

/**
 * Names of tools that nothing here answers to. An agent whose tool is not there works without it, so this is the last
 * place where somebody notices. A program may have tools of its own, so it is no error.
 */
export function toolProblems(team: Team): TeamProblem[] {
  return team.agents.flatMap((agent, index) => {
    const named = (['tools', 'exclude_tools'] as const).flatMap((key) =>
      (agent[key] ?? []).flatMap((name, at) => {
        const problem = problemOf(name)
        return problem ? [warning(['agents', index, key, at], ...problem)] : []
      }),
    )
    if (typeof agent.team !== 'object') return named
    const inside = toolProblems(agent.team).map((problem) => ({
      ...problem,
      place: ['agents', index, 'team', ...problem.place],
    }))
    return [...named, ...inside]
  })
}

function problemOf(name: string): [message: string, hint: string] | undefined {
  const known = [...OUR_TOOLS, ...BY_NAME]
  if (known.includes(name) || name.startsWith('mcp__')) return undefined
  const ours = ourNames(name, { dialect: 'claude-code', known: BY_NAME })
  if (ours?.includes(name)) return undefined
  const meant = ours ?? nearest(name, known).slice(0, 1)
  return [`no tool '${name}' comes with Troupe`, `did you mean ${meant.map((each) => `'${each}'`).join(' and ')}?`]
}
