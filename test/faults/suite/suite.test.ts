import { expect, test } from 'vitest'
import { damageTrial, killTrial, limitTrial, outageTrial, seededRandom, Trial } from './trials.ts'

test.each([
  ['X1 X2 X3 three random kills lose and repeat nothing', killTrial],
  ['E22 an outage that is healed by resume loses and repeats nothing', outageTrial],
  ['E23 a limit that is raised loses and repeats nothing', limitTrial],
  ['E24 a damaged journal is not resumed', damageTrial],
])('%s', { timeout: 120_000 }, async (_rule, attempt) => {
  const trial = await Trial.open(seededRandom(Math.floor(Math.random() * 1_000_000)))
  try {
    expect(await attempt(trial)).toEqual([])
  } finally {
    await trial.close()
  }
})
