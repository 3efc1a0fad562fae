import type { LoopVerdict } from '../../judgement/loop.ts'
import { fingerprintOf } from '../../judgement/loop.ts'
import { USER } from '../../judgement/team/definition.ts'
import type { GoingOn } from './choice.ts'
import { choose, goingOn } from './choice.ts'
import type { Floor } from './floor.ts'
import { personSpoke } from './floor.ts'
import type { Handover, Speaking } from './handover.ts'
import type { Plan } from './plan.ts'
import type { Spoken } from './speak.ts'

/**
 * Watches for work that goes in circles. The supervisor is asked first, if it is no person; then a person, who lets the
 * team go on, sends the work elsewhere, or stops it. Nothing goes round silently, and the handover says who decided.
 */
export async function guardLoop(floor: Floor, { from, spoken }: Speaking, handover: Handover): Promise<Handover> {
  const { context, plan, round, watch } = floor
  const { to } = handover
  if (to === null || to === USER) return handover
  // Words of a person are always something new.
  if (spoken.lines.some(({ person }) => person)) personSpoke(floor)
  const verdict = watch.add({ from, to, result: resultOf(floor, spoken) })
  if (verdict.ok) return handover
  const { kind, message } = verdict
  context.emit(`stuck/${round}`, 'team:loop', { round, kind, message, from, to })
  const { supervisor } = plan.team
  if (supervisor !== undefined && isAgent(plan, supervisor) && !floor.supervised && to !== supervisor) {
    floor.supervised = true
    return { ...handover, to: supervisor, by: 'supervisor', reason: `${message}: to ${supervisor} instead of ${to}` }
  }
  const choice = await decided(floor, verdict, { from, to })
  personSpoke(floor)
  if (choice.do === 'stop') return { ...handover, to: null, by: 'person', reason: `${message}: a person stopped it` }
  if (choice.do === 'override') {
    const reason = `${message}: a person chose ${choice.agent} over ${to}`
    return { ...handover, to: choice.agent, by: 'person', reason }
  }
  return { ...handover, problems: [...handover.problems, `${message}: a person let it go on`] }
}

function resultOf({ context, round }: Floor, { text, variables }: Spoken): string {
  const written = context.written(`round/${round}`).map(({ name, checksum }) => [name, checksum])
  const artifacts = Object.fromEntries(written) as Record<string, string>
  return fingerprintOf({ text, variables: Object.fromEntries(variables), artifacts })
}

type Loop = Extract<LoopVerdict, { ok: false }>

async function decided(
  { context, plan, round }: Floor,
  { kind, message, moves }: Loop,
  move: { from: string; to: string },
): Promise<GoingOn> {
  // A long way is no circle.
  const what = kind === 'max_rounds' ? 'The team has come to its limit' : 'The team goes in circles'
  return choose(context, `stuck/${round}/person`, {
    question: {
      question: `${what}: ${message}. Answer continue (to ${move.to}), stop, or who goes on instead.`,
      detail: {
        ...{ kind: 'loop', loop: kind, ...move, moves: moves.map(({ from, to }) => `${from} → ${to}`) },
        ...{ takes: ['continue', 'override'], answers: ['continue', 'stop', ...plan.names] },
      },
    },
    read: (answer) => {
      const choice = goingOn(answer, plan.names)
      return choice?.do === 'step' ? undefined : choice
    },
  })
}

/** A person is asked what to do about the loop, not what to do next. */
function isAgent(plan: Plan, name: string): boolean {
  return plan.names.includes(name) && plan.member(name).kind !== 'human'
}
