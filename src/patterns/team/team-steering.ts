import { didYouMean, nearestNames, TroupeError, unknownNameError } from '../../errors.ts'
import { settableVariables } from '../../judgement/team/settable-variables.ts'
import { teamMembers } from '../../judgement/team/team-members.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import { systemVariableTypes } from '../../judgement/team/team-variables.ts'
import type { SteerAction, SteeringCommand } from '../../kernel/steer-action.ts'
import { askUntilValid, parseHumanChoice } from './human-questions.ts'
import type { TeamState } from './team-state.ts'
import { setVariable } from './team-state.ts'

/** What people changed between two turns. */
export interface SteeringResult {
  next: string | null
  /** What they said, in order. */
  texts: string[]
}

/**
 * Takes what people asked since the last turn, and pauses if they want that. Only the team at the top is steered: a team
 * within it goes on until it returns.
 */
export function applySteering(floor: TeamState, next: string | null, key: string): Promise<SteeringResult> {
  return processSteering(floor, next, { key, ends: false })
}

/** The same where the team ends, unless somebody wants it otherwise: there is no turn left to pause before. */
export function applyFinalSteering(floor: TeamState, key: string): Promise<SteeringResult> {
  return processSteering(floor, null, { key, ends: true })
}

async function processSteering(
  floor: TeamState,
  next: string | null,
  { key, ends }: { key: string; ends: boolean },
): Promise<SteeringResult> {
  const changed: SteeringResult = { next, texts: [] }
  if (floor.context.parentName !== undefined) return changed
  if (floor.stepAfterRound !== undefined && floor.round > floor.stepAfterRound) setPace(floor, 'pause')
  for (let look = 1; ; look++) {
    const at = look === 1 ? key : `${key}/${look}`
    const steered = await floor.context.takeSteering(at)
    const refused = steered.map((one) => applyAction(floor, one, changed))
    const over = ends && changed.next === null && changed.texts.length === 0
    for (const [index, { action, by }] of steered.entries()) {
      const late = over && (action.do === 'pause' || action.do === 'step') ? 'the team has ended' : undefined
      const reason = refused[index] ?? late
      floor.context.emit(`${at}/told/${index}`, 'team:steered', {
        ...{
          round: floor.round,
          action,
          by,
          accepted: reason === undefined,
          ...(reason === undefined ? undefined : { reason }),
        },
      })
    }
    // The wish stays until there is a turn to pause before.
    if (!floor.pauseRequested || changed.next === null) return changed
    floor.pauseRequested = false
    await waitWhilePaused(floor, changed, `${at}/paused`)
  }
}

function setPace(floor: TeamState, pace: 'pause' | 'step' | 'continue'): void {
  floor.pauseRequested = pace === 'pause'
  floor.stepAfterRound = pace === 'step' ? floor.round : undefined
}

async function waitWhilePaused(floor: TeamState, changed: SteeringResult, key: string): Promise<void> {
  const { context, plan } = floor
  const choice = await askUntilValid(context, key, {
    question: {
      question: `Paused before ${changed.next}. Answer continue, step (one turn, then pause again), or who goes on instead.`,
      detail: {
        ...{ kind: 'pause', before: changed.next, round: floor.round + 1 },
        ...{ takes: ['continue', 'step', 'override'], answers: ['continue', 'step', ...plan.names] },
      },
    },
    read: (answer) => {
      const choice = parseHumanChoice(answer, plan.names)
      return choice?.do === 'stop' ? undefined : choice
    },
  })
  if (choice.do === 'step') setPace(floor, 'step')
  if (choice.do === 'override') changed.next = choice.agent
}

/** Makes the change; or says why it cannot be made. */
function applyAction(floor: TeamState, { action }: SteeringCommand, changed: SteeringResult): string | undefined {
  if (action.do === 'say') changed.texts.push(action.text)
  if (action.do === 'pause' || action.do === 'step' || action.do === 'continue') setPace(floor, action.do)
  if (action.do !== 'override' && action.do !== 'set') return undefined
  try {
    checkSteerAction(floor.plan.team, action)
  } catch (thrown) {
    return (thrown as TroupeError).message
  }
  if (action.do === 'override') changed.next = action.agent
  else setVariable(floor, action.name, action.value)
  return undefined
}

/** Refuses what this team cannot do, with what it could. */
export function checkSteerAction(team: Team, action: SteerAction): void {
  if (action.do === 'override') {
    const { agents, groups } = teamMembers(team)
    const known = [...agents, ...groups]
    if (!known.includes(action.agent))
      throw unknownNameError('unknown_agent', { kind: 'agent or group', name: action.agent, known })
  }
  if (action.do === 'set') checkVariable(team, action.name, action.value)
}

/** Refuses a value for a variable that nobody may set, that no condition could use, or of another type. */
export function checkVariable(team: Team, name: string, value: unknown): void {
  const known = settableVariables(team)
  if (systemVariableTypes(team).has(name)) {
    throw new TroupeError('invalid_input', `'${name}' is set by Troupe itself`, {
      alternatives: [...known.keys()],
      hint: 'set a variable of the team',
    })
  }
  if (!known.has(name)) {
    const near = nearestNames(name, [...known.keys()])
    throw new TroupeError('invalid_input', `no variable '${name}' in the team; known: ${near.slice(0, 8).join(', ')}`, {
      alternatives: near,
      hint: near[0] === undefined ? 'the team has no variables' : didYouMean(name, near),
    })
  }
  const type = known.get(name)
  if (type !== undefined && typeof value !== type) {
    throw new TroupeError('invalid_input', `'${name}' is a ${type}, not the ${typeof value} ${JSON.stringify(value)}`, {
      hint: `give a ${type}`,
    })
  }
}
