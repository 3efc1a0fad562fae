import { seededRandom } from '../../src/testing/seeded-random.ts'
import type { ChaosPlan } from './chaos-run.ts'
import type { Fault } from './simulated-process.ts'

/** Approximate number of boundaries of the reference run. */
const BOUNDARIES = 240

/** Derives one to three faults, the latencies and the answer timing from the seed. */
export function randomPlan(seed: number): ChaosPlan {
  const random = seededRandom(seed)
  const pick = <T>(...choices: T[]): T => choices[Math.floor(random() * choices.length)] as T
  const latency = { model: pick(0, 5, 60, 2_000), tool: pick(0, 0, 20, 400), store: pick(0, 0, 2, 30) }
  const answer_timing = pick<ChaosPlan['answer_timing']>('parked', 'early', 'early', 'elsewhere')
  const faults = Array.from({ length: pick(1, 1, 2, 2, 3) }, () => randomFault(random))
  const answer_delay_ms = Math.floor(random() * (latency.model + latency.tool + 6 * latency.store + 3))
  return { seed, faults, latency, answer_timing, answer_delay_ms }
}

function randomFault(random: () => number): Fault {
  const boundary = 1 + Math.floor(random() * BOUNDARIES)
  const kind = random()
  if (kind < 0.5) return { kind: 'kill', boundary }
  if (kind < 0.6) return { kind: 'power', boundary }
  if (kind < 0.7) return { kind: 'full', boundary }
  if (kind < 0.8) return { kind: 'jump', boundary, ms: Math.floor((random() - 0.5) * 1_200_000) }
  return { kind: 'suspend', boundary, steps: Math.floor(random() * random() * 400) }
}
