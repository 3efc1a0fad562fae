import type { WireReply, WireRequest } from '../wire-double.ts'
import { SPECIALISTS } from './options.ts'
import type { Scenario } from './scenarios.ts'
import type { Baseline } from './trial.ts'
import { seededRandom, Trial } from './trial.ts'

/* The trials of the fault suite. Each returns the ways in which it differs from runs that nothing disturbed. */

export type Attempt = (trial: Trial, baseline: Baseline) => Promise<string[]>

/** What the scenario gives when nothing disturbs it. */
export async function measureBaseline(scenario: Scenario): Promise<Baseline> {
  const trial = await Trial.open(scenario, seededRandom(1))
  const error = await trial.finish()
  const runs = await trial.report()
  const baseline = {
    summaries: runs.map(({ output }) => scenario.summarize(output)),
    acts: trial.acts(),
    requests: trial.wire.requests.length,
    served: trial.wire.served,
  }
  await trial.close()
  const isDone = runs.length === scenario.inputs.length && runs.every(({ stop_reason }) => stop_reason === 'completed')
  if (!isDone) throw new Error(`${scenario.name} does not complete undisturbed: ${error} ${JSON.stringify(runs)}`)
  return baseline
}

/** `exact`: what was served. `lost`: requests in flight are counted apart. `estimated`: connections broke, and what they can have cost is counted. */
type UsageRule = 'exact' | 'lost' | 'estimated'

/** How the end differs from that of undisturbed runs. */
async function differences(trial: Trial, baseline: Baseline, rule: UsageRule): Promise<string[]> {
  const runs = await trial.report()
  const acts = trial.acts()
  const repeated = acts.filter((name, index) => acts.indexOf(name) !== index)
  const missing = baseline.acts.filter((name) => !acts.includes(name))
  const settled = runs.reduce((sum, { usage }) => sum + usage.input + usage.output, 0)
  const lost = runs.reduce((sum, { usage }) => sum + usage.lost.tokens, 0)
  const { served } = trial.wire
  const [expected, actual] = [baseline.summaries, runs.map(({ output }) => trial.scenario.summarize(output))].map(
    (summaries) => JSON.stringify(summaries),
  )
  const open = runs.filter(({ stop_reason }) => stop_reason !== 'completed')
  return [
    ...(runs.length === baseline.summaries.length ? [] : [`${runs.length} of ${baseline.summaries.length} runs`]),
    ...open.map(({ status, stop_reason, error }) => `a run is ${status} (${stop_reason}): ${error ?? ''}`),
    ...(actual === expected ? [] : [`output ${actual}`]),
    ...(repeated.length > 0 ? [`repeated: ${repeated.join(', ')}`] : []),
    ...(missing.length > 0 ? [`missing: ${missing.join(', ')}`] : []),
    ...(rule !== 'estimated' && settled > served ? [`${settled} tokens counted, only ${served} served`] : []),
    ...(settled + lost < served ? [`${settled} tokens counted and ${lost} lost, ${served} served`] : []),
    ...(rule === 'exact' && settled !== served ? [`${settled} tokens counted, ${served} served`] : []),
    ...runs.flatMap(({ findings }) => (findings.length > 0 ? [`findings: ${JSON.stringify(findings)}`] : [])),
  ]
}

/** Three kills at random moments, then the work is finished. */
export const killTrial: Attempt = async (trial, baseline) => {
  for (let kill = 0; kill < 3; kill++) await trial.kill(trial.pick(Math.max(2, baseline.requests - 1)))
  trial.faults = trial.kills
  const error = await trial.finish()
  return [...(error ? [error] : []), ...(await differences(trial, baseline, trial.kills === 0 ? 'exact' : 'lost'))]
}

/** Refusals are not retried; the others are, after a pause, so that they are rarer here. */
const REFUSALS: readonly WireReply[] = [{ status: 401 }, { status: 402 }, { status: 403 }]
const FAILURES: readonly WireReply[] = [{ status: 500 }, { status: 503 }, { reset: 'before' }]

/** The provider fails from some request on, for all agents or for some; the work is resumed when it is back. */
export const outageTrial: Attempt = async (trial, baseline) => {
  const { wire, scenario } = trial
  const { reply } = wire
  const kinds = trial.random() < 0.15 ? FAILURES : REFUSALS
  const outage = kinds[trial.pick(kinds.length)] ?? {}
  const names = scenario.canLoseAgents && trial.random() < 0.5 ? SPECIALISTS.filter(() => trial.random() < 0.4) : []
  const first = names.length > 0 ? 1 : 1 + trial.pick(baseline.requests)
  const isDown = ({ count, agent }: WireRequest) =>
    count >= first && (names.length === 0 || names.includes(agent as never))
  wire.reply = (request) => (isDown(request) ? outage : reply(request))
  // Each run of the scenario meets the outage until one of them fails.
  for (let run = 0; run < scenario.inputs.length; run++) await trial.advance()?.done
  wire.reply = reply
  if (trial.isOpen) trial.faults += 1
  const error = await trial.finish()
  return [
    ...(error ? [error] : []),
    ...(await differences(trial, baseline, outage.reset === undefined ? 'exact' : 'estimated')),
  ]
}

/** A limit stops the run, and it is resumed with a higher one. */
export const limitTrial: Attempt = async (trial, baseline) => {
  const { inputs } = trial.scenario
  const [calls, tokens] = [baseline.requests, baseline.served].map((all) => Math.floor(all / inputs.length))
  const limits =
    trial.random() < 0.5
      ? { calls: 1 + trial.pick(Math.max(1, (calls ?? 0) - 1)) }
      : { tokens: 1 + trial.pick(tokens ?? 0) }
  await trial.advance(limits)?.done
  if (trial.isOpen) trial.faults += 1
  const error = await trial.finish({ calls: 500, tokens: 50_000_000 })
  return [...(error ? [error] : []), ...(await differences(trial, baseline, 'exact'))]
}

const DAMAGE: readonly ((trial: Trial) => void)[] = [
  (trial) => trial.damage((seq) => `DELETE FROM events WHERE seq = ${seq}`),
  (trial) => trial.damage((seq) => `UPDATE events SET data = '{"x' WHERE seq = ${seq}`),
  (trial) => trial.damage((seq) => `UPDATE events SET at = at + 1000 WHERE seq = ${seq}`),
  (trial) => trial.loseLog(),
]

/** Events are removed, destroyed or changed after a kill, or the log is lost: the run must not go on, and `verify` and `doctor` say why. */
export const damageTrial: Attempt = async (trial, baseline) => {
  // After the first requests, when there is a journal to damage.
  const requests = Math.floor(baseline.requests / trial.scenario.inputs.length)
  await trial.kill(Math.min(requests - 1, 2 + trial.pick(Math.max(1, Math.floor(requests / 2)))))
  if (trial.kills === 0) return []
  trial.faults += 1
  const before = trial.acts().length
  const sent = trial.wire.requests.length
  DAMAGE[trial.pick(DAMAGE.length)]?.(trial)
  const error = (await trial.advance()?.done) ?? ''
  const isRefused = /store_corrupt|is missing|is damaged|was changed|does not|verify/.test(error.replace(/\s+/g, ' '))
  const { verify, doctor } = await trial.findings()
  return [
    ...(isRefused ? [] : [`a damaged journal was not refused: ${error}`]),
    ...(verify === 0 ? ['verify found nothing'] : []),
    ...(doctor === 0 ? ['doctor found nothing'] : []),
    ...(trial.acts().length > before ? ['acts with a damaged journal'] : []),
    ...(trial.wire.requests.length > sent ? ['requests with a damaged journal'] : []),
  ]
}
