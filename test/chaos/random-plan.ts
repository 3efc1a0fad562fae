import { seededRandom } from '../../src/testing/seeded-random.ts'
import type { ChaosPlan } from './chaos-run.ts'
import type { Fault } from './simulated-process.ts'

/** Boundaries of the reference run, roughly: where faults are drawn from. */
const BOUNDARIES = 240

/** One to three faults, latencies and a person, all from the seed. */
export function randomPlan(seed: number): ChaosPlan {
  const random = seededRandom(seed)
  const pick = <T>(...choices: T[]): T => choices[Math.floor(random() * choices.length)] as T
  const slow = { model: pick(0, 5, 60, 2_000), tool: pick(0, 0, 20, 400), store: pick(0, 0, 2, 30) }
  const answer_timing = pick<ChaosPlan['answer_timing']>('parked', 'early', 'early', 'elsewhere')
  const faults = Array.from({ length: pick(1, 1, 2, 2, 3) }, () => randomFault(random))
  const answer_delay_ms = Math.floor(random() * (slow.model + slow.tool + 6 * slow.store + 3))
  return { seed, faults, slow, answer_timing, answer_delay_ms }
}

function randomFault(random: () => number): Fault {
  const at = 1 + Math.floor(random() * BOUNDARIES)
  const drawn = random()
  if (drawn < 0.5) return { kind: 'kill', at }
  if (drawn < 0.6) return { kind: 'power', at }
  if (drawn < 0.7) return { kind: 'full', at }
  if (drawn < 0.8) return { kind: 'jump', at, ms: Math.floor((random() - 0.5) * 1_200_000) }
  return { kind: 'suspend', at, steps: Math.floor(random() * random() * 400) }
}
