import { nearestNames } from '../errors.ts'
import type { TeamProblem } from '../judgement/team/team-problem.ts'
import { teamWarning } from '../judgement/team/team-problem.ts'
import type { Team } from '../judgement/team/team-schema.ts'
import { BUILT_IN_TOOLS, resolveToolNames } from './tool-aliases.ts'

/** What agents have only by name, and other names of the same. */
const NAME_ONLY_TOOLS = ['collaborate', 'outcome', 'Task', 'Agent']

/**
 * Names of tools that nothing here answers to. An agent whose tool is not there works without it, so this is the last
 * place where somebody notices. A program may have tools of its own, so it is no error.
 */
export function toolProblems(team: Team): TeamProblem[] {
  return team.agents.flatMap((agent, index) => {
    const named = (['tools', 'exclude_tools'] as const).flatMap((key) =>
      (agent[key] ?? []).flatMap((name, at) => {
        const problem = unknownToolProblem(name)
        return problem ? [teamWarning(['agents', index, key, at], ...problem)] : []
      }),
    )
    if (typeof agent.team !== 'object') return named
    const inside = toolProblems(agent.team).map((problem) => ({
      ...problem,
      field: ['agents', index, 'team', ...problem.field],
    }))
    return [...named, ...inside]
  })
}

function unknownToolProblem(name: string): [message: string, hint: string] | undefined {
  const known = [...BUILT_IN_TOOLS, ...NAME_ONLY_TOOLS]
  if (known.includes(name) || name.startsWith('mcp__')) return undefined
  const ours = resolveToolNames(name, { dialect: 'claude-code', known: NAME_ONLY_TOOLS })
  if (ours?.includes(name)) return undefined
  const meant = ours ?? nearestNames(name, known).slice(0, 1)
  return [`no tool '${name}' comes with Troupe`, `did you mean ${meant.map((each) => `'${each}'`).join(' and ')}?`]
}
