import { nearestNames } from '../errors.ts'
import type { TeamProblem } from '../judgement/team/team-problem.ts'
import { teamWarning } from '../judgement/team/team-problem.ts'
import type { Team } from '../judgement/team/team-schema.ts'
import { BUILT_IN_TOOLS, NAME_ONLY_TOOLS, resolveToolNames } from './tool-aliases.ts'

/**
 * Warns about unknown tools: at run time an agent silently works without them. Not an error, because a program may register
 * its own tools.
 */
export function toolProblems(team: Team): TeamProblem[] {
  return team.agents.flatMap((agent, index) => {
    const problems = (['tools', 'exclude_tools'] as const).flatMap((key) =>
      (agent[key] ?? []).flatMap((name, position) => {
        const problem = unknownToolProblem(name)
        return problem ? [teamWarning(['agents', index, key, position], ...problem)] : []
      }),
    )
    if (typeof agent.team !== 'object') return problems
    const subTeamProblems = toolProblems(agent.team).map((problem) => ({
      ...problem,
      field: ['agents', index, 'team', ...problem.field],
    }))
    return [...problems, ...subTeamProblems]
  })
}

function unknownToolProblem(name: string): [message: string, hint: string] | undefined {
  const known = [...BUILT_IN_TOOLS, ...NAME_ONLY_TOOLS]
  if (known.includes(name) || name.startsWith('mcp__')) return undefined
  const resolved = resolveToolNames(name, { dialect: 'claude-code', known: NAME_ONLY_TOOLS })
  if (resolved?.includes(name)) return undefined
  const suggestions = resolved ?? nearestNames(name, known).slice(0, 1)
  const quoted = suggestions.map((suggestion) => `'${suggestion}'`).join(' and ')
  return [`'${name}' is not a built-in tool`, `did you mean ${quoted}?`]
}
