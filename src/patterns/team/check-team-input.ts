import { TroupeError } from '../../errors.ts'
import { checkAttachments } from '../../judgement/attachment/attached-file.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import { validateTeam } from '../../judgement/team/validate-team.ts'
import type { Roster } from '../../kernel/roster.ts'
import { formatFieldPath } from '../../schema/json-value.ts'
import { matchRoles } from './form-team.ts'
import type { TeamRunInput } from './input.ts'
import { checkVariable } from './team-steering.ts'

const MAX_NESTING = 8

/** Rejects a team that cannot run, before the first model request. */
export function checkTeamInput(roster: Roster, input: TeamRunInput): void {
  const { team, message, variables, attachments = [], before } = input
  if (message.trim() === '') {
    throw new TroupeError('invalid_input', '`message` is empty', { hint: 'describe what the team should do' })
  }
  checkAttachments([...attachments, ...before.flatMap((earlier) => earlier.attachments ?? [])])
  checkNesting(team)
  checkTeamFilesLoaded(team)
  const problems = validateTeam(team, {
    roster: roster.names,
    externalVariables: Object.keys(variables),
  }).problems.filter(({ severity }) => severity === 'error')
  const [first] = problems
  if (first) {
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
    throw new TroupeError(
      'invalid_input',
      `team '${team.name}': ${formatFieldPath(first.field)}: ${first.message}${more}`,
      { hint: first.hint ?? 'correct this field of `team`; check a file with `troupe team check FILE`' },
    )
  }
  for (const [name, value] of Object.entries(variables)) checkVariable(team, name, value)
  checkOpenRoles(team, roster)
}

function checkNesting(team: Team): void {
  const depth = nestingDepth(team)
  if (depth <= MAX_NESTING) return
  throw new TroupeError(
    'depth_exceeded',
    `team '${team.name}' nests ${depth} levels of teams, the limit is ${MAX_NESTING}`,
    {
      hint: 'move inner teams to a higher level',
    },
  )
}

function nestingDepth(team: Team): number {
  return team.agents.reduce(
    (deepest, { team: inner }) => (typeof inner === 'object' ? Math.max(deepest, 1 + nestingDepth(inner)) : deepest),
    0,
  )
}

function checkTeamFilesLoaded(team: Team): void {
  const path = findUnreadTeamPath(team)
  if (path === undefined) return
  throw new TroupeError('invalid_input', `the team file '${path}' in \`agents[].team\` was not loaded`, {
    hint: 'load the team with readTeamFile, which also loads the team files it refers to',
  })
}

function findUnreadTeamPath(team: Team): string | undefined {
  for (const { team: inner } of team.agents) {
    const path = typeof inner === 'object' ? findUnreadTeamPath(inner) : inner
    if (path !== undefined) return path
  }
  return undefined
}

/** Matches the open roles of all nested teams up front: a missing agent must not stop a run half way. */
function checkOpenRoles(team: Team, roster: Roster): void {
  if (team.form) matchRoles(team, roster)
  for (const { team: inner } of team.agents) if (typeof inner === 'object') checkOpenRoles(inner, roster)
}

const MAX_WARNINGS = 20

/** Memoised: validating a large team takes longer than one of its handoffs. */
const warningsCache = new WeakMap<TeamRunInput, string[]>()

/** Validation warnings of a team and of the teams nested in it. */
export function teamWarnings(input: TeamRunInput): string[] {
  const cached = warningsCache.get(input)
  if (cached) return cached
  const { problems } = validateTeam(input.team, { externalVariables: Object.keys(input.variables) })
  const warnings = problems
    .filter(({ severity }) => severity === 'warning')
    .slice(0, MAX_WARNINGS)
    .map(({ field, message }) => `${formatFieldPath(field)}: ${message}`)
  warningsCache.set(input, warnings)
  return warnings
}
