import { TroupeError } from '../../errors.ts'
import { formatFieldPath } from '../../judgement/team/team-problem.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import { validateTeam } from '../../judgement/team/validate-team.ts'
import type { Roster } from '../../kernel/roster.ts'
import { matchRoles } from './form-team.ts'
import type { TeamRunInput } from './input.ts'
import { checkVariable } from './team-steering.ts'

/** Teams within teams within teams. */
const MAX_NESTING = 8

/** Refuses a team that cannot work as it is written, before anything is paid for. */
export function checkTeamInput(roster: Roster, { team, message, variables }: TeamRunInput): void {
  if (message.trim() === '') {
    throw new TroupeError('invalid_input', 'the message is empty', { hint: 'say what the team should do' })
  }
  const levels = nestingDepth(team)
  if (levels > MAX_NESTING) {
    throw new TroupeError(
      'depth_exceeded',
      `the team '${team.name}' holds ${levels} levels of teams, ${MAX_NESTING} are allowed`,
      {
        hint: 'put inner teams side by side',
      },
    )
  }
  const path = findUnreadTeamPath(team)
  if (path !== undefined) {
    throw new TroupeError(
      'invalid_input',
      `'${path}' is the path of a team file: it has to be read before the team can run`,
      {
        hint: 'read the team with readTeamFile, which reads the files of teams inside it',
      },
    )
  }
  const problems = validateTeam(team, { roster: roster.names, given: Object.keys(variables) }).problems.filter(
    ({ severity }) => severity === 'error',
  )
  const [first] = problems
  if (first) {
    const others = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
    throw new TroupeError(
      'invalid_input',
      `the team '${team.name}': ${formatFieldPath(first.place)}: ${first.message}${others}`,
      {
        ...(first.hint === undefined ? undefined : { hint: first.hint }),
      },
    )
  }
  for (const [name, value] of Object.entries(variables)) checkVariable(team, name, value)
  checkOpenRoles(team, roster)
}

/** Nobody works before every open place has somebody, also in teams that may never get their turn. */
function checkOpenRoles(team: Team, roster: Roster): void {
  if (team.form) matchRoles(team, roster)
  for (const { team: inner } of team.agents) if (typeof inner === 'object') checkOpenRoles(inner, roster)
}

const MAX_WARNINGS = 20

/** Looking into a large team takes longer than a handoff in it: an input is looked into once. */
const warningsCache = new WeakMap<TeamRunInput, string[]>()

/** What is odd about a team that works all the same. What is said of a team inside it is said with the one above. */
export function teamWarnings(input: TeamRunInput): string[] {
  const before = warningsCache.get(input)
  if (before) return before
  const { problems } = validateTeam(input.team, { given: Object.keys(input.variables) })
  const warnings = problems
    .filter(({ severity }) => severity === 'warning')
    .slice(0, MAX_WARNINGS)
    .map(({ place, message }) => `${formatFieldPath(place)}: ${message}`)
  warningsCache.set(input, warnings)
  return warnings
}

function nestingDepth(team: Team): number {
  return team.agents.reduce(
    (most, { team: inner }) => (typeof inner === 'object' ? Math.max(most, 1 + nestingDepth(inner)) : most),
    0,
  )
}

function findUnreadTeamPath(team: Team): string | undefined {
  for (const { team: inner } of team.agents) {
    const path = typeof inner === 'object' ? findUnreadTeamPath(inner) : inner
    if (path !== undefined) return path
  }
  return undefined
}
