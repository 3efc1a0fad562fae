import { didYouMean, nearest, TroupeError, unknownName } from '../../errors.ts'
import type { Team } from '../../judgement/team/definition.ts'
import { castOf } from '../../judgement/team/parts.ts'
import { settableIn } from '../../judgement/team/settable.ts'
import { systemTypes } from '../../judgement/team/variables.ts'
import type { SteerAction, Steered } from '../../kernel/steer.ts'
import { choose, goingOn } from './choice.ts'
import type { Floor } from './floor.ts'
import { setVariable } from './floor.ts'

/** What people changed between two turns. */
export interface Changed {
  next: string | null
  /** What they said, in order. */
  said: string[]
}

/**
 * Takes what people asked since the last turn, and pauses if they want that. Only the team at the top is steered: a team
 * within it goes on until it returns.
 */
export function takeSteering(floor: Floor, next: string | null, key: string): Promise<Changed> {
  return taken(floor, next, { key, ends: false })
}

/** The same where the team ends, unless somebody wants it otherwise: there is no turn left to pause before. */
export function takeLastWishes(floor: Floor, key: string): Promise<Changed> {
  return taken(floor, null, { key, ends: true })
}

async function taken(
  floor: Floor,
  next: string | null,
  { key, ends }: { key: string; ends: boolean },
): Promise<Changed> {
  const changed: Changed = { next, said: [] }
  if (floor.context.within !== undefined) return changed
  if (floor.stepping !== undefined && floor.round > floor.stepping) setPace(floor, 'pause')
  for (let look = 1; ; look++) {
    const at = look === 1 ? key : `${key}/${look}`
    const steered = await floor.context.steering(at)
    const refused = steered.map((one) => applied(floor, one, changed))
    const over = ends && changed.next === null && changed.said.length === 0
    for (const [index, { action, by }] of steered.entries()) {
      const late = over && (action.do === 'pause' || action.do === 'step') ? 'the team has ended' : undefined
      const why = refused[index] ?? late
      floor.context.emit(`${at}/told/${index}`, 'team:steered', {
        ...{ round: floor.round, action, by, taken: why === undefined, ...(why === undefined ? undefined : { why }) },
      })
    }
    // The wish stays until there is a turn to pause before.
    if (!floor.pausing || changed.next === null) return changed
    floor.pausing = false
    await paused(floor, changed, `${at}/paused`)
  }
}

function setPace(floor: Floor, pace: 'pause' | 'step' | 'continue'): void {
  floor.pausing = pace === 'pause'
  floor.stepping = pace === 'step' ? floor.round : undefined
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
  if (choice.do === 'step') setPace(floor, 'step')
  if (choice.do === 'override') changed.next = choice.agent
}

/** Makes the change; or says why it cannot be made. */
function applied(floor: Floor, { action }: Steered, changed: Changed): string | undefined {
  if (action.do === 'say') changed.said.push(action.text)
  if (action.do === 'pause' || action.do === 'step' || action.do === 'continue') setPace(floor, action.do)
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
  const known = settableIn(team)
  if (systemTypes(team).has(name)) {
    throw new TroupeError('invalid_input', `'${name}' is set by Troupe itself`, {
      alternatives: [...known.keys()],
      hint: 'set a variable of the team',
    })
  }
  if (!known.has(name)) {
    const near = nearest(name, [...known.keys()])
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
