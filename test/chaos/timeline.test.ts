import { beforeAll, expect, test } from 'vitest'
import type { Event } from '../../src/kernel/event.ts'
import { loadBuiltInPatterns } from '../../src/runtime/built-in-patterns.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { loadPatternViews } from '../../src/views/pattern-views.ts'
import type { TimelineSources } from '../../src/views/timeline/reduce-timeline.ts'
import { timelineFrom } from '../../src/views/timeline/reduce-timeline.ts'
import {
  expectChangesFrom,
  expectCostsOfTurns,
  expectReplay,
  expectSameCosts,
  expectValid,
  statusesAt,
} from '../support/timeline-checks.ts'
import type { RunScenario } from './chaos-run.ts'
import { runChaos } from './chaos-run.ts'
import { calmPlan } from './fault-sweep.ts'
import { namedScenario } from './named-scenario.ts'
import { randomPlan } from './random-plan.ts'
import { prices } from './reference-run.ts'

/* Timelines of journals with crashes, lost requests, jumping clocks and processes that take over. CHAOS_TIMELINES=n runs n plans of each scenario. */

const PLANS = Number(process.env.CHAOS_TIMELINES ?? 4)
const SCENARIOS = [
  ...['task', 'team', 'called team', 'mediate', 'hierarchical auto', 'tool call'],
  ...['consult background', 'consult person', 'consult wait-for cycle'],
]

let sources: TimelineSources
const scenarios = new Map<string, RunScenario | undefined>()

beforeAll(async () => {
  const patterns = await loadBuiltInPatterns()
  sources = { views: await loadPatternViews(patterns), prices }
  for (const name of SCENARIOS) scenarios.set(name, namedScenario(name))
  for (const scenario of scenarios.values()) await runChaos(calmPlan(scenario))
})

async function journals(): Promise<{ name: string; events: Event[] }[]> {
  const found: { name: string; events: Event[] }[] = []
  for (const [name, scenario] of scenarios) {
    for (let seed = 1; seed <= PLANS; seed++) {
      const { journal } = await runChaos({ ...randomPlan(seed), ...(scenario && { scenario }) })
      found.push({ name: `${name} ${seed}`, events: journal })
    }
  }
  return found
}

test('TL5 TL9 TL10 TL11 timelines of disturbed runs are valid, replayable, follow changes and add up', {
  timeout: 600_000,
}, async () => {
  const random = seededRandom(7)
  const all = await journals()
  expect(all.some(({ events }) => events.some(({ type }) => type === 'model:lost'))).toBe(true)
  for (const { name, events } of all) {
    try {
      expectValid(timelineFrom(events, sources))
      expectReplay(events, sources)
      expectChangesFrom(events, Math.floor(random() * events.length), sources)
      expectCostsOfTurns(expectSameCosts(events, prices))
      const shuffled = events.map((event) => ({ ...event, at: Math.floor(random() * 1e6) }) as Event)
      expectValid(timelineFrom(shuffled, sources))
      const end = events.length
      expect(statusesAt(timelineFrom(shuffled, sources), end)).toEqual(statusesAt(timelineFrom(events, sources), end))
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`, { cause: error })
    }
  }
})
