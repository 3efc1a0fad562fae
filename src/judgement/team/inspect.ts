import { courseProblems } from './check.ts'
import type { Team } from './definition.ts'
import { partProblems } from './parts.ts'
import type { TeamProblem } from './problem.ts'
import { rulesOf } from './rules.ts'
import { variableProblems, variableTypes } from './variables.ts'

export interface Inspection {
  /** Whether the parts fit together: such a team can be run, even where its course has flaws. */
  sound: boolean
  problems: TeamProblem[]
}

export interface InspectOptions {
  /** The agents that `uses` may name; absent means that they are not checked. */
  roster?: readonly string[]
  /** Parts of it were left out since they were wrong: what follows from their absence is not reported. */
  draft?: boolean
  /** Variables that somebody else gives a value: a team above, or whoever starts the run. */
  given?: readonly string[]
}

/** Everything that can be said about a team before it runs; teams written inside it are looked into as well. */
export function inspectTeam(team: Team, options: InspectOptions = {}): Inspection {
  const { rules, problems: ofRules } = rulesOf(team)
  const own = [...partProblems(team, options.roster), ...variableProblems(team), ...ofRules]
  const fits = own.every(({ severity }) => severity !== 'error')
  const given = options.given ?? []
  const handedDown = { ...options, given: [...given, ...variableTypes(team).keys()] }
  const inside = team.agents.flatMap(({ team: inner }, index) => {
    if (typeof inner !== 'object') return []
    const { sound, problems } = inspectTeam(inner, handedDown)
    const placed = problems.map((problem) => ({ ...problem, place: ['agents', index, 'team', ...problem.place] }))
    return [{ sound, problems: placed }]
  })
  return {
    sound: fits && inside.every(({ sound }) => sound),
    problems: [
      ...own,
      ...(fits && !options.draft ? courseProblems(team, rules, given) : []),
      ...inside.flatMap(({ problems }) => problems),
    ],
  }
}
