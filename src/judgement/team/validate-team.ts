import { flowProblems } from './flow-check.ts'
import { parseHandoffRules } from './handoff-rules.ts'
import { memberProblems } from './team-members.ts'
import type { TeamProblem } from './team-problem.ts'
import type { Team } from './team-schema.ts'
import { variableProblems, variableTypes } from './team-variables.ts'

export interface TeamValidation {
  /** True when names, variables and rules are valid; problems of the flow do not prevent a run. */
  runnable: boolean
  problems: TeamProblem[]
}

export interface TeamValidationOptions {
  /** The agents that `uses` may name; absent: not checked. */
  roster?: readonly string[]
  /** Invalid parts of the team were removed: the flow is not checked. */
  draft?: boolean
  /** Variables that a parent team or the caller sets. */
  externalVariables?: readonly string[]
}

/** Checks a team and its inline sub-teams before a run. */
export function validateTeam(team: Team, options: TeamValidationOptions = {}): TeamValidation {
  const { rules, problems: ruleProblems } = parseHandoffRules(team)
  const ownProblems = [...memberProblems(team, options.roster), ...variableProblems(team), ...ruleProblems]
  const isValid = ownProblems.every(({ severity }) => severity !== 'error')
  const externalVariables = options.externalVariables ?? []
  const innerOptions = { ...options, externalVariables: [...externalVariables, ...variableTypes(team).keys()] }
  const subTeams = team.agents.flatMap(({ team: inner }, index): TeamValidation[] => {
    if (typeof inner !== 'object') return []
    const { runnable, problems } = validateTeam(inner, innerOptions)
    return [{ runnable, problems: problems.map((problem) => inSubTeam(problem, index)) }]
  })
  return {
    runnable: isValid && subTeams.every(({ runnable }) => runnable),
    problems: [
      ...ownProblems,
      ...(isValid && !options.draft ? flowProblems(team, rules, externalVariables) : []),
      ...subTeams.flatMap(({ problems }) => problems),
    ],
  }
}

function inSubTeam(problem: TeamProblem, agentIndex: number): TeamProblem {
  return { ...problem, field: ['agents', agentIndex, 'team', ...problem.field] }
}
