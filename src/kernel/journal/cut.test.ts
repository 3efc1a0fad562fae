import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createStore } from '../../../test/golden/golden-store.ts'
import { memoryStore } from '../../../test/support/memory-store.ts'
import { agent, createTroupeWithStore, functionModel } from '../../../test/support/test-troupe.ts'
import { verifyJournal } from '../../entries/inspect.ts'
import type { Context } from '../../entries/patterns.ts'
import { definePattern } from '../../entries/patterns.ts'
import type { ErrorRecord, Event, Store } from '../../index.ts'
import { isEvent, TroupeError } from '../../index.ts'
import type { SimulatedWorld } from '../../testing/simulated-world.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'
import { shortHash } from '../hash.ts'

/* Random patterns that run into outages and are resumed, with kills between all events of a resume. */

/** A leaf works with what was there before it in its sequence. An answer that is kept, as in the waves of a vote, and a timeout do not depend on it. */
type Node =
  | { kind: 'step' | 'act' | 'ask' | 'kept' | 'late' | 'gate' | 'now'; id: number }
  | { kind: 'sequence' | 'nested' | 'race'; nodes: Node[]; id: number }
  | { kind: 'parallel'; nodes: Node[]; limit: number; id: number }

interface Plan {
  root: Node
  /** In how many executions each leaf fails, by its id. */
  down: ReadonlyMap<number, number>
  /** The limit of model requests of the first execution. */
  calls?: number
}

const { node: anyNode } = fc.letrec<{ node: unknown; leaf: unknown }>((tie) => ({
  leaf: fc.record({ kind: fc.constantFrom('step', 'act', 'ask', 'ask', 'kept', 'late', 'now', 'gate') }),
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    tie('leaf'),
    fc.record({
      kind: fc.constantFrom('sequence', 'sequence', 'nested', 'race'),
      nodes: fc.array(tie('node'), { minLength: 1, maxLength: 4 }),
    }),
    fc.record({
      kind: fc.constant('parallel'),
      nodes: fc.array(tie('node'), { minLength: 1, maxLength: 5 }),
      limit: fc.integer({ min: 1, max: 5 }),
    }),
  ),
}))

const plans: fc.Arbitrary<Plan> = fc
  .record({
    nodes: fc.array(anyNode, { minLength: 2, maxLength: 4 }),
    down: fc.array(fc.constantFrom(0, 0, 1, 1, 2), { minLength: 40, maxLength: 40 }),
    calls: fc.option(fc.integer({ min: 1, max: 6 }), { nil: 1000, freq: 2 }),
  })
  .map(({ nodes, down, calls }) => {
    const root = numbered({ kind: 'sequence', nodes: nodes as Node[], id: 0 })
    return { root, calls, down: new Map(leaves(root).map(({ id }, index) => [id, down[index % down.length] ?? 0])) }
  })

function numbered(root: Node): Node {
  let id = 0
  const visit = (node: Node): Node => {
    const own = { ...node, id: id++ }
    return 'nodes' in own ? { ...own, nodes: own.nodes.map(visit) } : own
  }
  return visit(root)
}

const SERVED = new Set(['step', 'act', 'ask', 'kept'])

function leaves(node: Node): Node[] {
  return 'nodes' in node ? node.nodes.flatMap(leaves) : SERVED.has(node.kind) ? [node] : []
}

/** The leaves that work with what one of these leaves has given. */
function dependentLeaves(node: Node, failing: ReadonlySet<number>): Set<number> {
  const found = new Set<number>()
  const visit = (each: Node, isAfter: boolean): boolean => {
    if (!('nodes' in each)) {
      if (isAfter && each.kind !== 'kept') found.add(each.id)
      return failing.has(each.id)
    }
    let failed = false
    for (const child of each.nodes)
      failed = visit(child, isAfter || (each.kind !== 'parallel' && each.kind !== 'race' && failed)) || failed
    return failed
  }
  visit(node, false)
  return found
}

interface Provider {
  execution: number
  plan: Plan
  /** The leaves that gave an answer, in order. */
  served: number[]
}

function outage(): TroupeError {
  return new TroupeError('model_failed', 'the provider is down', { hint: 'wait' })
}

function serve({ execution, plan, served }: Provider, id: number): void {
  if (execution < (plan.down.get(id) ?? 0)) throw outage()
  served.push(id)
}

interface Working {
  context: Context
  provider: Provider
  errors: ErrorRecord[]
}

async function work(scope: Working, node: Node, before: unknown): Promise<unknown> {
  const { context, provider, errors } = scope
  const key = `${node.kind}-${node.id}`
  switch (node.kind) {
    case 'now':
      await context.now(key)
      return `at ${node.id}`
    case 'gate':
      return `${await context.ask(key, { question: `after ${short(before)}?`, detail: {} })}`
    case 'step':
    case 'act':
      try {
        const effect = () => {
          serve(provider, node.id)
          return `${node.id}(${short(before)})`
        }
        return await context.step(key, effect, node.kind === 'act' ? { kind: 'act' } : {})
      } catch (thrown) {
        if (!(thrown instanceof TroupeError) || thrown.code !== 'model_failed') throw thrown
        errors.push(thrown.toJSON())
        return `no ${node.id}`
      }
    case 'ask': {
      const request = { instruction: `${node.id}(${short(before)})` }
      const { text, error } = await context.perform(agent('asked'), request, { key })
      if (error) errors.push(error)
      return error ? `no ${node.id}` : text
    }
    case 'kept': {
      await context.hasKept(`${key}-had`, [key])
      const request = { instruction: `${node.id}(${short(before)})`, keep: true } as const
      const { error } = await context.perform(agent('asked'), request, { key })
      if (error) errors.push(error)
      return error ? `no ${node.id}` : `kept ${node.id}`
    }
    case 'late': {
      const slow = agent('slow', { timeout_ms: 1000 })
      const { error } = await context.perform(slow, { instruction: 'wait' }, { key })
      if (error?.code !== 'timeout') errors.push(error ?? outage().toJSON())
      return `late ${node.id}`
    }
    case 'sequence': {
      let value = before
      for (const each of node.nodes) value = [value, await work(scope, each, value)]
      return value
    }
    case 'nested': {
      const { value, failures } = (await context.run('nested', { node, before }, { key })) as {
        value: unknown
        failures: ErrorRecord[]
      }
      errors.push(...failures)
      return value
    }
    case 'parallel': {
      const settled = await context.parallel(node.nodes, node.limit, (each) => work(scope, each, before))
      return settled.map((each) => {
        if (each.ok) return each.value
        throw each.error
      })
    }
    case 'race': {
      const running = node.nodes.map((each) => work(scope, each, before))
      await context.first(key, Object.fromEntries(running.map((each, index) => [`${index}`, each])))
      return Promise.all(running)
    }
  }
}

function short(value: unknown): string {
  return shortHash(JSON.stringify(value ?? ''))
}

function createPatterns(provider: Provider) {
  const nested = definePattern({
    name: 'nested',
    description: 'A part of a random pattern',
    version: 1,
    category: 'perception',
    input: z.object({ node: z.any(), before: z.any() }),
    output: z.any(),
    execute: async (context, { node, before }) => {
      const errors: ErrorRecord[] = []
      const scope = { context: context as never as Context, provider, errors }
      const value = await work(scope, { ...node, kind: 'sequence' }, before)
      return { success: true, output: { value, failures: errors } }
    },
  })
  const random = definePattern({
    name: 'random',
    description: 'A random pattern',
    version: 1,
    category: 'perception',
    input: z.object({}),
    output: z.any(),
    execute: async (context) => {
      const errors: ErrorRecord[] = []
      const output = await work({ context: context as never as Context, provider, errors }, provider.plan.root, null)
      return { success: true, output, stop_reason: errors.length > 0 ? 'partial' : 'completed', incomplete: errors }
    },
  })
  return [nested, random]
}

/** In simulated time, in which a session that waits for nothing else times out at once. */
function simulated<T>(work: (world: SimulatedWorld) => Promise<T>): Promise<T> {
  const world = simulatedWorld(1, { idle_turns: 50_000 })
  return world.runUntil(work(world))
}

async function createScene(plan: Plan, world: SimulatedWorld, store: Store = memoryStore()) {
  const provider: Provider = { execution: 0, plan, served: [] }
  const model = functionModel(async ({ session, messages }) => {
    if (session.agent === 'slow') await new Promise(() => {})
    const text = messages.flatMap(({ content }) => (content as { text?: string }[]).flatMap((part) => part.text ?? []))
    const [instruction = ''] = text.slice(-1)
    const id = Number.parseInt(instruction, 10)
    if (provider.execution < (plan.down.get(id) ?? 0)) throw Object.assign(new Error('down'), { status: 402 })
    provider.served.push(id)
    return { text: instruction }
  })
  const troupe = await createTroupeWithStore({
    ...{ store, model, engine: { world } },
    agents: [agent('asked')],
    patterns: createPatterns(provider),
  })
  /** Answers what is asked until the run has ended. */
  const finish = async (run_id: string, first: Promise<{ status: string }>) => {
    let result = await first
    for (let round = 0; result.status === 'waiting' && round < 50; round++) {
      for (const gate of await troupe.gates({ run_id }).all()) await troupe.answer(gate.gate_id, 'yes')
      result = await (await troupe.resume(run_id)).result
    }
    return result as Awaited<ReturnType<typeof troupe.run>>
  }
  const check = async (run_id: string) => {
    expect(verifyJournal(await troupe.events(run_id).all())).toEqual([])
    expect((await troupe.replay(run_id)).differences).toEqual([])
  }
  return { troupe, provider, finish, check }
}

async function undisturbedOutput(root: Node, world: SimulatedWorld): Promise<unknown> {
  const { troupe, finish } = await createScene({ root, down: new Map() }, world)
  const handle = await troupe.stream('random', {})
  const { output, status } = await finish(handle.run_id, handle.result)
  expect(status).toBe('completed')
  await troupe.close()
  return output
}

/** Runs a plan and resumes it until nothing is missing. */
async function runPlan(plan: Plan, world: SimulatedWorld) {
  const scene = await createScene(plan, world)
  const { troupe, provider, finish, check } = scene
  const { run_id, result } = await troupe.stream('random', {}, { limits: { calls: plan.calls ?? null } })
  let last = await finish(run_id, result)
  await check(run_id)
  while (last.incomplete) {
    provider.execution += 1
    last = await finish(
      run_id,
      troupe.resume(run_id, { limits: { calls: null } }).then((handle) => handle.result),
    )
    await check(run_id)
  }
  const events = await troupe.events(run_id).all()
  await troupe.close()
  const failing = failedLeaves(plan, events)
  const others = leaves(plan.root).filter(({ id }) => !dependentLeaves(plan.root, failing).has(id))
  return { last, events, failing, others, served: provider.served }
}

/** Resumes a run that was killed after these events. */
async function resumeKilled(plan: Plan, world: SimulatedWorld, events: readonly Event[]) {
  const { troupe, provider, finish, check } = await createScene(plan, world, await createStore(events))
  provider.execution = Number.POSITIVE_INFINITY
  const run_id = events[0]?.run_id ?? ''
  const resume = (options = {}) =>
    finish(
      run_id,
      troupe.resume(run_id, options).then((handle) => handle.result),
    )
  let resumed = await resume()
  // An action that had begun: a person says that it had no effect.
  if (resumed.error?.code === 'outcome_unknown') resumed = await resume({ force: true })
  await check(run_id)
  await troupe.close()
  return { output: resumed.output, served: provider.served }
}

/** The leaves that were down, or that the limit stopped; a session that timed out has neither failed nor an answer. */
function failedLeaves({ down }: Plan, events: readonly Event[]): Set<number> {
  const stopped = events.flatMap((event) => (isEvent(event, 'limit:hit') ? event.data.key : []))
  const ids = stopped.map((key) => Number(/-(\d+)\/turn/.exec(key)?.[1]))
  return new Set([...[...down].flatMap(([id, times]) => (times > 0 ? id : [])), ...ids])
}

describe('J22 what depends on a retried step', () => {
  test('J22 random patterns: the result is that of a run without failures, and what depends on none is performed once', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const { last, served, others } = await simulated((world) => runPlan(plan, world))
        const undisturbed = await simulated((world) => undisturbedOutput(plan.root, world))
        expect([last.error, last.output]).toEqual([null, undisturbed])
        expect(others.filter(({ id }) => served.filter((each) => each === id).length !== 1)).toEqual([])
      }),
      { numRuns: 60, seed: 31 },
    )
  })

  test('J22 random patterns, killed between all events of a resume: nothing is lost, done twice, or mixed', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const { events, last, failing, others } = await simulated((world) => runPlan(plan, world))
        const reopened = events.findLastIndex(({ type }: Event) => type === 'run:reopen')
        fc.pre(reopened !== -1)
        const done = others.map(({ id }) => id).filter((id) => !failing.has(id))
        for (let kept = reopened + 1; kept < events.length; kept++) {
          const { output, served } = await simulated((world) => resumeKilled(plan, world, events.slice(0, kept)))
          expect([kept, output]).toEqual([kept, last.output])
          expect(served.filter((id) => done.includes(id))).toEqual([])
        }
      }),
      { numRuns: 4, seed: 32 },
    )
  })
})

const agents = 6
const subsets = Array.from({ length: agents }, (_, limit) => limit + 1).flatMap((limit) =>
  Array.from({ length: 2 ** agents - 1 }, (_, mask) => ({ limit, mask: mask + 1 })),
)

test('J22 in a bounded parallel, only the branches that failed are performed again, whatever the limit', async () => {
  for (const { limit, mask } of subsets.filter(
    ({ mask: each }) => each % 5 === 1 || each.toString(2).match(/^1+0*$/),
  )) {
    const nodes = Array.from({ length: agents }, (_, index): Node => ({ kind: 'ask', id: index + 1 }))
    const root: Node = { kind: 'parallel', nodes, limit, id: 0 }
    const down = new Map(nodes.map(({ id }, index) => [id, (mask >> index) & 1]))
    const { served, last } = await simulated((world) => runPlan({ root, down }, world))
    expect([limit, mask, last.status, [...served].sort()]).toEqual([
      limit,
      mask,
      'completed',
      nodes.map(({ id }) => id),
    ])
  }
})
