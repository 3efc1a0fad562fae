import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { verifyJournal } from '../../src/audit/verify-journal.ts'
import type { Event } from '../../src/kernel/event.ts'
import { isEvent } from '../../src/kernel/event.ts'
import type { Limits } from '../../src/kernel/limits.ts'
import type { Model, ModelChunk, ModelRequest, Usage } from '../../src/kernel/model.ts'
import { addUsage, NO_USAGE, textFrom } from '../../src/kernel/model.ts'
import type { Spend } from '../../src/kernel/spend.ts'
import { addSpend, NO_SPEND, totalTokens } from '../../src/kernel/spend.ts'
import { createTroupe } from '../../src/runtime/troupe.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import type { SimulatedWorld } from '../../src/testing/simulated-world.ts'
import { simulatedWorld } from '../../src/testing/simulated-world.ts'
import { memoryStore } from '../support/memory-store.ts'
import { agent } from '../support/test-troupe.ts'

/*
 * One lead with many parallel children and a budget that is too small for them: compares the requests that the model
 * received with the limits and with the recorded usage.
 */

interface BudgetCase {
  seed: number
  children: number
  limits: Partial<Limits>
  /** Kills the process at this model request; another process resumes the run. */
  kill_at?: number
  /** Maximum latency of a model request in milliseconds. */
  latency: number
}

interface BudgetOutcome {
  usages: Usage[]
  usd: number
  journal: Event[]
  totals: Spend
  sessions: Usage
}

const toUsd = ({ input, output }: Usage) => input / 1_000 + output / 100

/** Responds with a random length up to the limit; the lead delegates once and then finishes. */
function delegatingModel(budgetCase: BudgetCase, outcome: BudgetOutcome, world: SimulatedWorld): Model {
  const random = seededRandom(budgetCase.seed ^ world.now())
  async function* stream(request: ModelRequest): AsyncGenerator<ModelChunk> {
    if (world.killed) await new Promise<never>(() => {})
    const limit = request.settings.max_output ?? 50
    const text = JSON.stringify(request.messages).length + request.system.length
    const output = Math.min(limit, 1 + Math.floor(random() * 60))
    const usage = { ...NO_USAGE, input: Math.ceil(text / 4), output }
    outcome.usages.push(usage)
    outcome.usd += toUsd(usage)
    if (outcome.usages.length === budgetCase.kill_at) world.kill()
    await world.sleep(Math.floor(random() * budgetCase.latency))
    const calls = taskCallsFor(request, budgetCase)
    yield* calls
    if (calls.length === 0) yield { type: 'text', text: 'done' }
    yield { type: 'finish', stop: calls.length > 0 ? 'tool_calls' : 'end', usage }
  }
  return { name: 'm', stream }
}

/** The lead delegates to many helpers, and every second helper delegates once. */
function taskCallsFor({ session, messages }: ModelRequest, budgetCase: BudgetCase): ModelChunk[] {
  if (session.turn !== 1 || session.agent === 'leaf') return []
  const odd = /[13579]$/.test(textFrom(messages[0]))
  const count = session.agent === 'lead' ? budgetCase.children : odd ? 1 : 0
  const next = session.agent === 'lead' ? 'helper' : 'leaf'
  return Array.from({ length: count }, (_, n) => ({
    type: 'tool-call',
    id: `c${n}`,
    name: 'task',
    input: { agent: next, instruction: `do ${n}` },
  }))
}

async function runBudgetCase(budgetCase: BudgetCase): Promise<BudgetOutcome> {
  const store = memoryStore()
  const outcome: BudgetOutcome = { usages: [], usd: 0, journal: [], totals: NO_SPEND, sessions: NO_USAGE }
  let run_id = ''
  for (let attempt = 0, start = Date.UTC(2030, 0, 1); attempt < 3; attempt++, start += 60_000) {
    const world = simulatedWorld(budgetCase.seed + attempt, { start })
    const troupe = await createTroupe({
      store,
      model: delegatingModel(budgetCase, outcome, world),
      models: { prices: { cost: (_model, usage) => toUsd(usage) } },
      agents: [agent('lead'), agent('helper'), agent('leaf')],
      limits: { depth: 2, breadth: 60, concurrency: 60, output: 50, ...budgetCase.limits },
      engine: { world },
    })
    const starting = run_id === '' ? troupe.stream('task', { agent: 'lead', instruction: 'go' }) : troupe.resume(run_id)
    const handle = await world.runUntil(starting)
    run_id = handle.run_id
    const ended = await world.runUntil(handle.result).then(
      () => true,
      () => false,
    )
    if (ended) break
  }
  outcome.journal = structuredClone(await store.events(run_id))
  outcome.totals = (await store.run(run_id))?.usage ?? NO_SPEND
  const rows = await store.sessions({ project: 'default', run_id })
  outcome.sessions = rows.reduce((sum: Usage, { usage }) => addUsage(sum, usage), NO_USAGE)
  return outcome
}

const totalUsage = (usages: readonly Usage[]) => usages.reduce(addUsage, NO_USAGE)

describe('parallel sessions under a call limit', () => {
  test('N5 fifty parallel sessions never exceed a limit of twenty calls', async () => {
    for (const latency of [1, 50, 3_000]) {
      const outcome = await runBudgetCase({ seed: latency, children: 50, limits: { calls: 20 }, latency })
      expect(outcome.usages).toHaveLength(20)
      expect(outcome.totals.calls).toBe(20)
      expect(verifyJournal(outcome.journal)).toEqual([])
      expect(outcome.journal.filter((event) => isEvent(event, 'limit:hit')).length).toBeGreaterThan(30)
    }
  })

  test('B2 a run that is killed and resumed does not exceed the limit of calls', async () => {
    for (let kill_at = 1; kill_at <= 40; kill_at++) {
      const outcome = await runBudgetCase({ seed: kill_at, children: 20, limits: { calls: 40 }, latency: 100, kill_at })
      expect(verifyJournal(outcome.journal), `killed at call ${kill_at}`).toEqual([])
      expect(outcome.usages.length, `killed at call ${kill_at}`).toBeLessThanOrEqual(40)
    }
  })
})

const budgetCases = fc.record(
  {
    seed: fc.nat(1_000_000),
    children: fc.integer({ min: 1, max: 25 }),
    latency: fc.constantFrom(1, 20, 5_000),
    kill_at: fc.integer({ min: 1, max: 30 }),
    limits: fc.record({
      calls: fc.integer({ min: 1, max: 40 }),
      tokens: fc.integer({ min: 500, max: 60_000 }),
      usd: fc.double({ min: 0.5, max: 60, noNaN: true }),
      concurrency: fc.integer({ min: 1, max: 30 }),
    }),
  },
  { requiredKeys: ['seed', 'children', 'latency', 'limits'] },
)

describe('random latencies', () => {
  test('N5 calls, tokens and cost never exceed their limits, whatever the latency, killed or not', async () => {
    await fc.assert(
      fc.asyncProperty(budgetCases, async (budgetCase) => {
        const outcome = await runBudgetCase(budgetCase as BudgetCase)
        expect(verifyJournal(outcome.journal)).toEqual([])
        expect(outcome.usages.length).toBeLessThanOrEqual(budgetCase.limits.calls)
        expect(totalTokens(totalUsage(outcome.usages))).toBeLessThanOrEqual(budgetCase.limits.tokens)
        expect(outcome.usd).toBeLessThanOrEqual(budgetCase.limits.usd + 1e-9)
      }),
      { numRuns: 60 },
    )
  })

  test('B4 the usage of the run, its sessions and its journal equals the usage that the model reported', async () => {
    const undisturbed = budgetCases.map(({ kill_at: _ignored, ...budgetCase }) => budgetCase)
    await fc.assert(
      fc.asyncProperty(undisturbed, async (budgetCase) => {
        const { usages, usd, totals, sessions, journal } = await runBudgetCase(budgetCase as BudgetCase)
        const reported = totalUsage(usages)
        const { calls, usd: cost, known_usd: _known, lost, estimated: _estimated, ...used } = totals
        expect(calls).toBe(usages.length)
        expect(used).toEqual(reported)
        expect(cost ?? Number.NaN).toBeCloseTo(usd, 6)
        expect(lost).toEqual({ calls: 0, tokens: 0, usd: 0 })
        expect(addUsage(sessions, NO_USAGE)).toEqual(reported)
        expect(journal.reduce(addSpend, NO_SPEND)).toEqual(totals)
      }),
      { numRuns: 40 },
    )
  })
})
