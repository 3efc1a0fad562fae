import { fingerprintOf } from '../../judgement/loop.ts'
import { choose, goingOn } from './choice.ts'
import type { Floor } from './floor.ts'
import type { Plan } from './plan.ts'
import type { Spoken } from './speak.ts'

/** Where the work goes after all; null when a person stops the team. */
export type Guarded = { to: string | null; by: 'person' | 'supervisor' } | undefined

/**
 * Watches for work that goes in circles. The supervisor is asked first, if it is no person; then a person, who lets the
 * team go on, sends the work elsewhere, or stops it. Nothing goes round silently.
 */
export async function guardLoop(floor: Floor, spoken: Spoken, move: { from: string; to: string }): Promise<Guarded> {
  const { context, plan, round, watch } = floor
  const written = context.written(`round/${round}`).map(({ name, checksum }) => [name, checksum])
  const artifacts = Object.fromEntries(written) as Record<string, string>
  const result = fingerprintOf({ text: spoken.text, variables: Object.fromEntries(spoken.variables), artifacts })
  const verdict = watch.add({ ...move, result })
  if (verdict.ok) return undefined
  const { kind, message } = verdict
  context.emit(`stuck/${round}`, 'team:loop', { round, kind, message, ...move })
  const { supervisor } = plan.team
  if (supervisor !== undefined && isAgent(plan, supervisor) && !floor.supervised && move.to !== supervisor) {
    floor.supervised = true
    return { to: supervisor, by: 'supervisor' }
  }
  const choice = await choose(context, `stuck/${round}/person`, {
    question: {
      question: `The team goes in circles: ${message}. Answer continue (to ${move.to}), stop, or who goes on instead.`,
      detail: {
        ...{ kind: 'loop', loop: kind, ...move, moves: verdict.moves.map(({ from, to }) => `${from} → ${to}`) },
        ...{ takes: ['continue', 'override'], answers: ['continue', 'stop', ...plan.names] },
      },
    },
    read: (answer) => {
      const choice = goingOn(answer, plan.names)
      return choice?.do === 'step' ? undefined : choice
    },
  })
  watch.reset()
  floor.supervised = false
  if (choice.do === 'stop') return { to: null, by: 'person' }
  return { to: choice.do === 'override' ? choice.agent : move.to, by: 'person' }
}

/** A person is asked what to do about the loop, not what to do next. */
function isAgent(plan: Plan, name: string): boolean {
  return plan.names.includes(name) && plan.member(name).kind !== 'human'
}
