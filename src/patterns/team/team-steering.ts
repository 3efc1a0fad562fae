import { didYouMean, nearestNames, TroupeError, unknownNameError } from '../../errors.ts'
import { checkAttachments } from '../../judgement/attachment/attached-file.ts'
import { settableVariables } from '../../judgement/team/settable-variables.ts'
import { teamMembers } from '../../judgement/team/team-members.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import { systemVariableTypes } from '../../judgement/team/team-variables.ts'
import type { SteerAction, SteeringCommand } from '../../kernel/steer-action.ts'
import type { PersonMessage } from './human-questions.ts'
import { askUntilValid, parseHumanChoice, toPersonMessage } from './human-questions.ts'
import type { TeamState } from './team-state.ts'
import { setVariable } from './team-state.ts'

/** The effect of steering between two turns. */
export interface SteeringResult {
  next: string | null
  /** Messages of the user, in order. */
  said: PersonMessage[]
}

/** Applies the steering commands for this team since the last turn, and pauses if requested. */
export function applySteering(state: TeamState, next: string | null, key: string): Promise<SteeringResult> {
  return processSteering(state, next, { key, isEnd: false })
}

/** Applies steering at the end of the team: there is no turn left to pause before. */
export function applyFinalSteering(state: TeamState, key: string): Promise<SteeringResult> {
  return processSteering(state, null, { key, isEnd: true })
}

async function processSteering(
  state: TeamState,
  next: string | null,
  { key, isEnd }: { key: string; isEnd: boolean },
): Promise<SteeringResult> {
  const { context, pause } = state
  const result: SteeringResult = { next, said: [] }
  if (pause.stepAfterRound !== undefined && state.round > pause.stepAfterRound) setPace(state, 'pause')
  for (let attempt = 1; ; attempt++) {
    const attemptKey = attempt === 1 ? key : `${key}/${attempt}`
    // At its end the top team takes what no sub-team has taken, too, and rejects it.
    const takesAll = isEnd && context.parentName === undefined
    // The commands address the team of the run: one that an agent calls has no path, and must not take another team's.
    const isAddressed = ({ path }: SteerAction) => !context.caller && (takesAll || path === context.parentName)
    const commands = await context.takeSteering(attemptKey, isAddressed)
    const rejections = commands.map((command) => applyAction(state, command, result))
    const hasEnded = isEnd && result.next === null && result.said.length === 0
    for (const [index, { action, by }] of commands.entries()) {
      const tooLate = hasEnded && (action.do === 'pause' || action.do === 'step') ? 'the team has ended' : undefined
      const reason = rejections[index] ?? tooLate
      context.emit(`${attemptKey}/steered/${index}`, 'team:steered', {
        ...{ round: state.round, action, by, accepted: reason === undefined },
        ...(reason === undefined ? undefined : { reason }),
      })
    }
    // Without a next turn the pause request stays pending.
    if (!pause.requested || result.next === null) return result
    pause.requested = false
    await waitWhilePaused(state, result, `${attemptKey}/paused`)
  }
}

function setPace({ pause, round }: TeamState, pace: 'pause' | 'step' | 'continue'): void {
  pause.requested = pace === 'pause'
  pause.stepAfterRound = pace === 'step' ? round : undefined
}

async function waitWhilePaused(state: TeamState, result: SteeringResult, key: string): Promise<void> {
  const { context, plan, round } = state
  const choice = await askUntilValid(context, key, {
    question: {
      question: `Paused before ${toPath(state, result.next)}. Answer continue, step (one turn, then pause again), or the name of another member.`,
      detail: {
        ...{ kind: 'pause', before: result.next, round: round + 1 },
        ...{ takes: ['continue', 'step', 'override'], answers: ['continue', 'step', ...plan.names] },
      },
    },
    parse: (answer) => {
      const parsed = parseHumanChoice(answer, plan.names)
      return parsed?.do === 'stop' ? undefined : parsed
    },
  })
  if (choice.do === 'step') setPace(state, 'step')
  if (choice.do === 'override') result.next = choice.agent
}

function toPath({ context }: TeamState, name: string | null): string {
  return context.parentName === undefined ? `${name}` : `${context.parentName}/${name}`
}

/** Applies one action, or returns the reason why it was rejected. */
function applyAction(state: TeamState, { action }: SteeringCommand, result: SteeringResult): string | undefined {
  if (action.path !== state.context.parentName) return `${action.path} has no turn any more`
  if (action.do === 'say') result.said.push(toPersonMessage(action))
  if (action.do === 'pause' || action.do === 'step' || action.do === 'continue') setPace(state, action.do)
  if (action.do !== 'override' && action.do !== 'set') return undefined
  try {
    checkTeamAction(state.plan.team, action)
  } catch (thrown) {
    return (thrown as TroupeError).message
  }
  if (action.do === 'override') result.next = action.agent
  else {
    setVariable(state, action.name, action.value)
    state.personVariables.add(action.name)
  }
  return undefined
}

/** Throws when the team, or the sub-team at `path`, cannot apply the action, and lists the alternatives. */
export function checkSteerAction(team: Team, action: SteerAction): void {
  checkTeamAction(action.path === undefined ? team : findSubTeam(team, action.path), action)
}

/** The sub-team at a path such as `legal/contracts`. */
function findSubTeam(team: Team, path: string): Team {
  const teams = subTeams(team)
  const found = teams.get(path)
  if (found) return found
  if (teams.size > 0)
    throw unknownNameError('unknown_agent', { kind: 'sub-team', name: path, known: [...teams.keys()] })
  throw new TroupeError('invalid_input', `\`path\` '${path}': the team '${team.name}' has no sub-teams`, {
    hint: 'leave out `path` to steer the team itself',
  })
}

function subTeams(team: Team): Map<string, Team> {
  const nested = team.agents.flatMap(({ name, team: inner }): [string, Team][] =>
    typeof inner !== 'object'
      ? []
      : [[name, inner], ...[...subTeams(inner)].map(([path, each]): [string, Team] => [`${name}/${path}`, each])],
  )
  return new Map(nested)
}

function checkTeamAction(team: Team, action: SteerAction): void {
  if (action.do === 'override') {
    const { agents, groups } = teamMembers(team)
    const known = [...agents, ...groups]
    if (!known.includes(action.agent))
      throw unknownNameError('unknown_agent', { kind: 'agent or group', name: action.agent, known })
  }
  if (action.do === 'set') checkVariable(team, action.name, action.value)
  if (action.do === 'say') checkAttachments(action.attachments ?? [])
}

/** Throws when the variable is a system variable, is unknown, or has another type. */
export function checkVariable(team: Team, name: string, value: unknown): void {
  const known = settableVariables(team)
  if (systemVariableTypes(team).has(name)) {
    throw new TroupeError('invalid_input', `'${name}' is a system variable and cannot be set`, {
      alternatives: [...known.keys()],
      hint: 'set a variable of `context_variables`',
    })
  }
  if (!known.has(name)) {
    const nearest = nearestNames(name, [...known.keys()])
    const reason =
      nearest.length === 0
        ? ': the team declares no variables'
        : ` in the team; known: ${nearest.slice(0, 8).join(', ')}`
    throw new TroupeError('invalid_input', `no variable '${name}'${reason}`, {
      alternatives: nearest,
      hint: nearest.length === 0 ? 'declare it in `context_variables`' : didYouMean(name, nearest),
    })
  }
  const type = known.get(name)
  if (type !== undefined && typeof value !== type) {
    throw new TroupeError(
      'invalid_input',
      `the variable '${name}' is a ${type}, not the ${typeof value} ${JSON.stringify(value)}`,
      {
        hint: `set it to a ${type}`,
      },
    )
  }
}
