import { nearest, TroupeError, unknownName } from '../../errors.ts'
import type { Node } from '../../judgement/condition/tree.ts'
import { leavesOf } from '../../judgement/condition/tree.ts'
import type { Team } from '../../judgement/team/definition.ts'
import { castOf } from '../../judgement/team/parts.ts'
import { rulesOf } from '../../judgement/team/rules.ts'
import { systemTypes, variableTypes } from '../../judgement/team/variables.ts'
import type { SteerAction, Steered } from '../../kernel/steer.ts'
import { choose, goingOn } from './choice.ts'
import type { Floor } from './floor.ts'
import { say, setVariable } from './floor.ts'

/** What people changed between two turns. */
export interface Changed {
  next: string | null
  /** They said something. */
  spoke: boolean
}

/**
 * Takes what people asked since the last turn, and pauses if they want that. Only the team at the top is steered: a team
 * within it goes on until it returns.
 */
export async function takeSteering(floor: Floor, next: string | null, key: string): Promise<Changed> {
  const changed: Changed = { next, spoke: false }
  if (floor.input.nested > 0) return changed
  let pausing = floor.stepping && next !== null
  floor.stepping = false
  for (let look = 1; ; look++) {
    const at = look === 1 ? key : `${key}/${look}`
    const steered = await floor.context.steering(at)
    for (const [index, one] of steered.entries()) {
      const why = applied(floor, one, changed)
      if (one.action.do === 'pause') pausing = true
      if (one.action.do === 'step') floor.stepping = true
      if (one.action.do === 'step' || one.action.do === 'continue') pausing = false
      if (one.action.do === 'continue') floor.stepping = false
      const taken = why === undefined
      floor.context.emit(`${at}/told/${index}`, 'team:steered', {
        ...{ round: floor.round, action: one.action, by: one.by, taken, ...(taken ? undefined : { why }) },
      })
    }
    if (!pausing || changed.next === null) return changed
    pausing = false
    await paused(floor, changed, `${at}/paused`)
  }
}

async function paused(floor: Floor, changed: Changed, key: string): Promise<void> {
  const { context, plan } = floor
  const choice = await choose(context, key, {
    question: {
      question: `Paused before ${changed.next}. Answer continue, step (one turn, then pause again), or who goes on instead.`,
      detail: {
        ...{ kind: 'pause', before: changed.next, round: floor.round + 1 },
        ...{ takes: ['continue', 'step', 'override'], answers: ['continue', 'step', ...plan.names] },
      },
    },
    read: (answer) => {
      const choice = goingOn(answer, plan.names)
      return choice?.do === 'stop' ? undefined : choice
    },
  })
  if (choice.do === 'step') floor.stepping = true
  if (choice.do === 'override') changed.next = choice.agent
}

/** Makes the change; or says why it cannot be made. */
function applied(floor: Floor, { action }: Steered, changed: Changed): string | undefined {
  if (action.do === 'say') {
    say(floor, { from: 'user', round: floor.round, text: action.text })
    changed.spoke = true
  }
  if (action.do !== 'override' && action.do !== 'set') return undefined
  try {
    checkSteer(floor.plan.team, action)
  } catch (thrown) {
    return (thrown as TroupeError).message
  }
  if (action.do === 'override') changed.next = action.agent
  else setVariable(floor, action.name, action.value)
  return undefined
}

/** Refuses what this team cannot do, with what it could. */
export function checkSteer(team: Team, action: SteerAction): void {
  if (action.do === 'override') {
    const { agents, groups } = castOf(team)
    const known = [...agents, ...groups]
    if (!known.includes(action.agent)) throw unknownName('unknown_agent', 'agent or group', action.agent, known)
  }
  if (action.do === 'set') checkVariable(team, action.name, action.value)
}

/** Refuses a value for a variable that nobody may set, that no condition could use, or of another type. */
export function checkVariable(team: Team, name: string, value: unknown): void {
  if (systemTypes(team).has(name)) {
    throw new TroupeError('invalid_input', `'${name}' is set by Troupe itself`, {
      alternatives: [...variableTypes(team).keys()],
      hint: 'set a variable of the team',
    })
  }
  const types = variableTypes(team)
  const type = types.get(name)
  if (type === undefined && !usedIn(team).has(name)) {
    const known = nearest(name, [...new Set([...types.keys(), ...usedIn(team)])])
    throw new TroupeError(
      'invalid_input',
      `no variable '${name}' in the team; known: ${known.slice(0, 8).join(', ')}`,
      {
        alternatives: known,
        hint: known[0] === undefined ? 'the team has no variables' : `did you mean '${known[0]}'?`,
      },
    )
  }
  if (type !== undefined && typeof value !== type) {
    throw new TroupeError('invalid_input', `'${name}' is a ${type}, not the ${typeof value} ${JSON.stringify(value)}`, {
      hint: `give a ${type}`,
    })
  }
}

/** The variables that conditions speak of, whoever sets them. */
function usedIn(team: Team): Set<string> {
  const system = systemTypes(team)
  return new Set(
    rulesOf(team)
      .rules.flatMap(({ condition }) => variablesIn(condition))
      .filter((name) => !system.has(name)),
  )
}

function variablesIn(condition: Node): string[] {
  return leavesOf(condition).flatMap((leaf) => {
    if (leaf.kind === 'fact') return [leaf.variable]
    if (leaf.kind === 'semantic') return leaf.variables
    if (leaf.kind === 'constant') return []
    return [leaf.left, leaf.right].flatMap((side) => ('variable' in side ? [side.variable] : []))
  })
}
