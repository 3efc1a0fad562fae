import { flowProblems } from './flow-check.ts'
import { parseHandoffRules } from './handoff-rules.ts'
import { memberProblems } from './team-members.ts'
import type { TeamProblem } from './team-problem.ts'
import type { Team } from './team-schema.ts'
import { variableProblems, variableTypes } from './team-variables.ts'

export interface TeamValidation {
  /** Whether the parts fit together: such a team can be run, even where its course has flaws. */
  runnable: boolean
  problems: TeamProblem[]
}

export interface TeamValidationOptions {
  /** The agents that `uses` may name; absent means that they are not checked. */
  roster?: readonly string[]
  /** Parts of it were left out since they were wrong: what follows from their absence is not reported. */
  draft?: boolean
  /** Variables that somebody else gives a value: a team above, or whoever starts the run. */
  given?: readonly string[]
}

/** Everything that can be said about a team before it runs; teams written inside it are looked into as well. */
export function validateTeam(team: Team, options: TeamValidationOptions = {}): TeamValidation {
  const { rules, problems: ofRules } = parseHandoffRules(team)
  const own = [...memberProblems(team, options.roster), ...variableProblems(team), ...ofRules]
  const fits = own.every(({ severity }) => severity !== 'error')
  const given = options.given ?? []
  const handedDown = { ...options, given: [...given, ...variableTypes(team).keys()] }
  const inside = team.agents.flatMap(({ team: inner }, index) => {
    if (typeof inner !== 'object') return []
    const { runnable, problems } = validateTeam(inner, handedDown)
    const placed = problems.map((problem) => ({ ...problem, field: ['agents', index, 'team', ...problem.field] }))
    return [{ sound: runnable, problems: placed }]
  })
  return {
    runnable: fits && inside.every(({ sound }) => sound),
    problems: [
      ...own,
      ...(fits && !options.draft ? flowProblems(team, rules, given) : []),
      ...inside.flatMap(({ problems }) => problems),
    ],
  }
}
