import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { SCENARIOS } from './scenarios.ts'
import type { Baseline } from './trial.ts'
import { seededRandom, Trial } from './trial.ts'
import type { Attempt } from './trials.ts'
import { damageTrial, killTrial, limitTrial, measureBaseline, outageTrial } from './trials.ts'

/*
 * The long version of the fault suite: `npm run faults -- --kills 500 --seed 7`. Prints every trial that differs from undisturbed runs, with how to
 * repeat it alone, and figures at the end; exits with 1 if there is a difference.
 *   --kills N --outages N --limits N --store N   how many kills, outages, limit raises and store faults (500, 100, 50, 40)
 *   --seed N                                     the same trials again
 *   --part 1/4                                   every fourth trial, a quarter of the plan, for another process or machine
 *   --results FILE                               one line of JSON per trial; trials in the file are not repeated
 *   --only outages/17                            this trial alone
 */

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '500' },
    outages: { type: 'string', default: '100' },
    limits: { type: 'string', default: '50' },
    store: { type: 'string', default: '40' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    part: { type: 'string', default: '1/1' },
    results: { type: 'string' },
    only: { type: 'string' },
  },
})

interface Outcome {
  trial: string
  seed: number
  scenario: string
  differences: string[]
  faults: number
  kills: number
  requests: number
  acts: number
  cli: number
  library: number
  seconds: number
}

interface Plan {
  name: string
  attempt: Attempt
  wanted: number
  /** How far a trial gets the plan: trials without a fault do not count. */
  counts: (outcome: Outcome) => number
}

const [part = 1, parts = 1] = values.part.split('/').map(Number)
const seed = Number(values.seed)
const share = (wanted: string) => Math.ceil(Number(wanted) / parts)
const effective = ({ faults }: Outcome) => faults
const plans: Plan[] = [
  { name: 'outages', attempt: outageTrial, wanted: share(values.outages), counts: effective },
  { name: 'limits', attempt: limitTrial, wanted: share(values.limits), counts: effective },
  { name: 'store', attempt: damageTrial, wanted: share(values.store), counts: effective },
  { name: 'kills', attempt: killTrial, wanted: share(values.kills), counts: ({ kills }) => kills },
]
const outcomes = readOutcomes()
const baselines = new Map<string, Baseline>()

console.log(`seed ${seed}, part ${part} of ${parts}`)
for (const plan of plans) await carryOut(plan)
printFigures()

function readOutcomes(): Map<string, Outcome> {
  const { results } = values
  const lines = results !== undefined && existsSync(results) ? readFileSync(results, 'utf8').split('\n') : []
  const read = lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Outcome]))
  return new Map(read.filter((outcome) => outcome.seed === seed).map((outcome) => [outcome.trial, outcome]))
}

async function carryOut(plan: Plan): Promise<void> {
  let reached = 0
  for (let index = part - 1; reached < plan.wanted; index += parts) {
    const name = `${plan.name}/${index}`
    if (values.only !== undefined && values.only !== name) {
      // Kills have no fixed number of trials.
      if (index > 10_000 || !values.only.startsWith(`${plan.name}/`)) return
      continue
    }
    const outcome = outcomes.get(name) ?? (await attemptTrial(plan, index))
    outcomes.set(name, outcome)
    reached += plan.counts(outcome)
    if (values.only !== undefined) return
  }
}

async function attemptTrial({ name, attempt }: Plan, index: number): Promise<Outcome> {
  const scenario = SCENARIOS[index % SCENARIOS.length] as (typeof SCENARIOS)[number]
  const baseline = baselines.get(scenario.name) ?? (await measureBaseline(scenario))
  baselines.set(scenario.name, baseline)
  const started = performance.now()
  const trial = await Trial.open(scenario, seededRandom(seed * 1_000_003 + index))
  const differences = await attempt(trial, baseline).catch((thrown: unknown) => [`the trial failed: ${thrown}`])
  const { faults, kills, processes, wire } = trial
  const seconds = Math.round((performance.now() - started) / 100) / 10
  const facts = { faults, kills, requests: wire.requests.length, acts: trial.acts().length, ...processes, seconds }
  const outcome = { trial: `${name}/${index}`, seed, scenario: scenario.name, differences, ...facts }
  await trial.close()
  if (differences.length > 0) {
    console.log(`${outcome.trial} (${scenario.name}): ${differences.join('; ').slice(0, 1500)}`)
    console.log(`  repeat it with: npm run faults -- --seed ${seed} --only ${outcome.trial}`)
  }
  if (values.results !== undefined) appendFileSync(values.results, `${JSON.stringify(outcome)}\n`)
  return outcome
}

function printFigures(): void {
  const all = [...outcomes.values()]
  const sum = (list: readonly Outcome[], count: (outcome: Outcome) => number) =>
    list.reduce((total, outcome) => total + count(outcome), 0)
  for (const { name } of plans) {
    const tried = all.filter(({ trial }) => trial.startsWith(`${name}/`))
    const different = tried.filter(({ differences }) => differences.length > 0)
    const scenarios = SCENARIOS.map((scenario) => {
      const count = tried.filter((outcome) => outcome.scenario === scenario.name).length
      return `${scenario.name} ${count}`
    })
    const seconds = Math.round(sum(tried, (outcome) => outcome.seconds))
    console.log(
      `${name}: ${tried.length} trials (${scenarios.join(', ')}) with ${sum(tried, ({ faults }) => faults)} faults, ${different.length} with differences, ${seconds} s`,
    )
  }
  const problems = all.filter(({ differences }) => differences.length > 0).length
  const processes = `${sum(all, ({ library }) => library)} processes of the library, ${sum(all, ({ cli }) => cli)} of the command line`
  console.log(
    `${sum(all, ({ kills }) => kills)} kills, ${processes}, ${sum(all, ({ requests }) => requests)} model requests, ${sum(all, ({ acts }) => acts)} acts`,
  )
  console.log(`${all.length} trials, ${problems} with differences`)
  process.exitCode = problems > 0 ? 1 : 0
}
