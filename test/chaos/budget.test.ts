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
import { MemoryStore } from '../../src/store/memory.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import type { SimulatedWorld } from '../../src/testing/simulated-world.ts'
import { simulatedWorld } from '../../src/testing/simulated-world.ts'
import { agent } from '../support/test-troupe.ts'

/*
 * One lead, many children at once, and a budget that is too small for them: what the model double saw against what the
 * limits allow and what the ledger says.
 */

interface Crowd {
  seed: number
  children: number
  limits: Partial<Limits>
  /** The process is killed when the double sees this call; the run is then resumed by another. */
  killAt?: number
  /** Most milliseconds of one call. */
  slow: number
}

interface Seen {
  usages: Usage[]
  usd: number
  journal: Event[]
  totals: Spend
  sessions: Usage
}

const ZERO = { model: 'm', input: 0 }
const dollars = ({ input, output }: Usage) => input / 1_000 + output / 100

/** As long as it may be, or shorter; the lead delegates once and then sums up. */
function crowdModel(crowd: Crowd, seen: Seen, world: SimulatedWorld): Model {
  const random = seededRandom(crowd.seed ^ world.now())
  async function* stream(request: ModelRequest): AsyncGenerator<ModelChunk> {
    if (world.killed) await new Promise<never>(() => {})
    const most = request.settings.max_output ?? 50
    const text = JSON.stringify(request.messages).length + request.system.length
    const output = Math.min(most, 1 + Math.floor(random() * 60))
    const usage = { ...NO_USAGE, input: Math.ceil(text / 4), output }
    seen.usages.push(usage)
    seen.usd += dollars(usage)
    if (seen.usages.length === crowd.killAt) world.kill()
    await world.sleep(Math.floor(random() * crowd.slow))
    const calls = callsOf(request, crowd)
    yield* calls
    if (calls.length === 0) yield { type: 'text', text: 'done' }
    yield { type: 'finish', stop: calls.length > 0 ? 'tool_calls' : 'end', usage }
  }
  return { name: ZERO.model, stream }
}

/** The lead has many hands, and every second hand has one of its own. */
function callsOf({ session, messages }: ModelRequest, crowd: Crowd): ModelChunk[] {
  if (session.turn !== 1 || session.agent === 'leaf') return []
  const odd = /[13579]$/.test(textFrom(messages[0]))
  const count = session.agent === 'lead' ? crowd.children : odd ? 1 : 0
  const next = session.agent === 'lead' ? 'hand' : 'leaf'
  return Array.from({ length: count }, (_, n) => ({
    type: 'tool-call',
    id: `c${n}`,
    name: 'task',
    input: { agent: next, instruction: `do ${n}` },
  }))
}

async function play(crowd: Crowd): Promise<Seen> {
  const store = new MemoryStore()
  const seen: Seen = { usages: [], usd: 0, journal: [], totals: NO_SPEND, sessions: NO_USAGE }
  let run_id = ''
  for (let life = 0, start = Date.UTC(2030, 0, 1); life < 3; life++, start += 60_000) {
    const world = simulatedWorld(crowd.seed + life, { start })
    const troupe = await createTroupe({
      store,
      model: crowdModel(crowd, seen, world),
      models: { prices: { cost: (_model, usage) => dollars(usage) } },
      agents: [agent('lead'), agent('hand'), agent('leaf')],
      limits: { depth: 2, breadth: 60, concurrency: 60, output: 50, ...crowd.limits },
      engine: { world },
    })
    const working = run_id === '' ? troupe.stream('task', { agent: 'lead', instruction: 'go' }) : troupe.resume(run_id)
    const handle = await world.runUntil(working)
    run_id = handle.run_id
    const over = await world.runUntil(handle.result).then(
      () => true,
      () => false,
    )
    if (over) break
  }
  seen.journal = structuredClone(await store.events(run_id))
  seen.totals = (await store.run(run_id))?.usage ?? NO_SPEND
  const rows = await store.sessions({ project: 'default', run_id })
  seen.sessions = rows.reduce((sum: Usage, { usage }) => addUsage(sum, usage), NO_USAGE)
  return seen
}

const sumOf = (usages: readonly Usage[]) => usages.reduce(addUsage, NO_USAGE)

describe('many at once', () => {
  test('B1 fifty children against a limit of twenty calls never make the twenty-first', async () => {
    for (const slow of [1, 50, 3_000]) {
      const seen = await play({ seed: slow, children: 50, limits: { calls: 20 }, slow })
      expect(seen.usages).toHaveLength(20)
      expect(seen.totals.calls).toBe(20)
      expect(verifyJournal(seen.journal)).toEqual([])
      expect(seen.journal.filter((event) => isEvent(event, 'limit:hit')).length).toBeGreaterThan(30)
    }
  })

  test('B2 killed in the middle and resumed, it still makes no more calls than the limit', async () => {
    for (let killAt = 1; killAt <= 40; killAt++) {
      const seen = await play({ seed: killAt, children: 20, limits: { calls: 40 }, slow: 100, killAt })
      expect(verifyJournal(seen.journal), `killed at call ${killAt}`).toEqual([])
      expect(seen.usages.length, `killed at call ${killAt}`).toBeLessThanOrEqual(40)
    }
  })
})

const crowds = fc.record(
  {
    seed: fc.nat(1_000_000),
    children: fc.integer({ min: 1, max: 25 }),
    slow: fc.constantFrom(1, 20, 5_000),
    killAt: fc.integer({ min: 1, max: 30 }),
    limits: fc.record({
      calls: fc.integer({ min: 1, max: 40 }),
      tokens: fc.integer({ min: 500, max: 60_000 }),
      usd: fc.double({ min: 0.5, max: 60, noNaN: true }),
      concurrency: fc.integer({ min: 1, max: 30 }),
    }),
  },
  { requiredKeys: ['seed', 'children', 'slow', 'limits'] },
)

describe('any latencies', () => {
  test('B3 calls, tokens and dollars never exceed their limits, whatever the latencies, killed or not', async () => {
    await fc.assert(
      fc.asyncProperty(crowds, async (crowd) => {
        const seen = await play(crowd as Crowd)
        expect(verifyJournal(seen.journal)).toEqual([])
        expect(seen.usages.length).toBeLessThanOrEqual(crowd.limits.calls)
        expect(totalTokens(sumOf(seen.usages))).toBeLessThanOrEqual(crowd.limits.tokens)
        expect(seen.usd).toBeLessThanOrEqual(crowd.limits.usd + 1e-9)
      }),
      { numRuns: 60 },
    )
  }, 60_000)

  test('B4 the ledger sums exactly: the run, its sessions, its journal and what the model double reported', async () => {
    const whole = crowds.map(({ killAt: _killed, ...crowd }) => crowd)
    await fc.assert(
      fc.asyncProperty(whole, async (crowd) => {
        const { usages, usd, totals, sessions, journal } = await play(crowd as Crowd)
        const reported = sumOf(usages)
        const { calls, usd: paid, known_usd: _known, lost, estimated: _estimated, ...used } = totals
        expect(calls).toBe(usages.length)
        expect(used).toEqual(reported)
        expect(paid ?? Number.NaN).toBeCloseTo(usd, 6)
        expect(lost).toEqual({ calls: 0, tokens: 0, usd: 0 })
        expect(addUsage(sessions, NO_USAGE)).toEqual(reported)
        expect(journal.reduce(addSpend, NO_SPEND)).toEqual(totals)
      }),
      { numRuns: 40 },
    )
  }, 60_000)
})
