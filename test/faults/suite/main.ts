import { damageTrial, killTrial, limitTrial, outageTrial, seededRandom, Trial } from './trials.ts'

/*
 * The long version of the fault suite: `npm run faults [-- SCALE [SEED]]`. Prints what was tried and every difference; exits with 1
 * if there is one.
 */

const [scale = '1', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2)
const count = (trials: number) => Math.max(1, Math.round(trials * Number(scale)))
const plan = [
  { name: 'kills', trial: killTrial, trials: count(250) },
  { name: 'outages', trial: outageTrial, trials: count(100) },
  { name: 'limit raises', trial: limitTrial, trials: count(50) },
  { name: 'store faults', trial: damageTrial, trials: count(40) },
]

let problems = 0
let kills = 0
let requests = 0
console.log(`seed ${seed}`)
for (const { name, trial: attempt, trials } of plan) {
  const found: string[] = []
  const started = performance.now()
  for (let index = 0; index < trials; index++) {
    const trial = await Trial.open(seededRandom(Number(seed) + index))
    const differences = await attempt(trial)
    kills += trial.kills
    requests += trial.wire.requests.length
    if (differences.length > 0) found.push(`  ${name} ${Number(seed) + index}: ${differences.join('; ')}`)
    await trial.close()
  }
  problems += found.length
  const seconds = Math.round((performance.now() - started) / 1000)
  console.log(`${name}: ${trials} trials, ${found.length} with differences, ${seconds} s`)
  for (const line of found) console.log(line)
}
console.log(`${kills} kills, ${requests} model requests, ${problems} trials with differences`)
process.exitCode = problems > 0 ? 1 : 0
