import { expect, test } from 'vitest'
import type { Scenario } from './scenarios.ts'
import { SCENARIOS } from './scenarios.ts'
import { seededRandom, Trial } from './trial.ts'
import { damageTrial, killTrial, limitTrial, measureBaseline, outageTrial } from './trials.ts'

// One trial of each kind, each with another kind of work; `npm run faults` runs hundreds of each.
test.each([
  ['X1 X2 X3 random kills lose and repeat nothing', killTrial],
  ['E22 TM78 CO128 an outage that is healed by resume loses and repeats nothing', outageTrial],
  ['E23 a limit that is raised loses and repeats nothing', limitTrial],
  ['E24 a damaged journal is not resumed', damageTrial],
])('%s', { timeout: 240_000 }, async (_rule, attempt) => {
  const seed = Math.floor(Math.random() * 1_000_000)
  const scenario = SCENARIOS[seed % SCENARIOS.length] as Scenario
  const baseline = await measureBaseline(scenario)
  const trial = await Trial.open(scenario, seededRandom(seed))
  try {
    expect(await attempt(trial, baseline), `${scenario.name}, seed ${seed}`).toEqual([])
  } finally {
    await trial.close()
  }
})
