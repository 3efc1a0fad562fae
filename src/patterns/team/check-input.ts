import { TroupeError } from '../../errors.ts'
import type { Team } from '../../judgement/team/definition.ts'
import { inspectTeam } from '../../judgement/team/inspect.ts'
import { written } from '../../judgement/team/problem.ts'
import type { Roster } from '../../kernel/roster.ts'
import { chosenFor } from './form.ts'
import type { TeamRunInput } from './input.ts'
import { checkVariable } from './steer.ts'

/** Teams within teams within teams. */
const MOST_NESTED = 8

/** Refuses a team that cannot work as it is written, before anything is paid for. */
export function checkInput(roster: Roster, { team, message, variables }: TeamRunInput): void {
  if (message.trim() === '') {
    throw new TroupeError('invalid_input', 'the message is empty', { hint: 'say what the team should do' })
  }
  const levels = nesting(team)
  if (levels > MOST_NESTED) {
    throw new TroupeError(
      'depth_exceeded',
      `the team '${team.name}' holds ${levels} levels of teams, ${MOST_NESTED} are allowed`,
      {
        hint: 'put inner teams side by side',
      },
    )
  }
  const path = unread(team)
  if (path !== undefined) {
    throw new TroupeError(
      'invalid_input',
      `'${path}' is the path of a team file: it has to be read before the team can run`,
      {
        hint: 'read the team with readTeamFile, which reads the files of teams inside it',
      },
    )
  }
  const problems = inspectTeam(team, { roster: roster.names, given: Object.keys(variables) }).problems.filter(
    ({ severity }) => severity === 'error',
  )
  const [first] = problems
  if (first) {
    const others = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
    throw new TroupeError(
      'invalid_input',
      `the team '${team.name}': ${written(first.place)}: ${first.message}${others}`,
      {
        ...(first.hint === undefined ? undefined : { hint: first.hint }),
      },
    )
  }
  for (const [name, value] of Object.entries(variables)) checkVariable(team, name, value)
  checkPlaces(team, roster)
}

/** Nobody works before every open place has somebody, also in teams that may never get their turn. */
function checkPlaces(team: Team, roster: Roster): void {
  if (team.form) chosenFor(team, roster)
  for (const { team: inner } of team.agents) if (typeof inner === 'object') checkPlaces(inner, roster)
}

const MOST_WARNINGS = 20

/** Looking into a large team takes longer than a handoff in it: an input is looked into once. */
const known = new WeakMap<TeamRunInput, string[]>()

/** What is odd about a team that works all the same. What is said of a team inside it is said with the one above. */
export function warningsOf(input: TeamRunInput): string[] {
  const before = known.get(input)
  if (before) return before
  const { problems } = inspectTeam(input.team, { given: Object.keys(input.variables) })
  const warnings = problems
    .filter(({ severity }) => severity === 'warning')
    .slice(0, MOST_WARNINGS)
    .map(({ place, message }) => `${written(place)}: ${message}`)
  known.set(input, warnings)
  return warnings
}

function nesting(team: Team): number {
  return team.agents.reduce(
    (most, { team: inner }) => (typeof inner === 'object' ? Math.max(most, 1 + nesting(inner)) : most),
    0,
  )
}

function unread(team: Team): string | undefined {
  for (const { team: inner } of team.agents) {
    const path = typeof inner === 'object' ? unread(inner) : inner
    if (path !== undefined) return path
  }
  return undefined
}
