import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createStore } from '../../../test/golden/golden-store.ts'
import { memoryStore } from '../../../test/support/memory-store.ts'
import { agent, createTroupeWithStore, functionModel } from '../../../test/support/test-troupe.ts'
import type { Context, ErrorRecord, Event, Store } from '../../index.ts'
import { definePattern, TroupeError, verifyJournal } from '../../index.ts'
import { shortHash } from '../hash.ts'

/* Random patterns that run into outages and are resumed, with kills between all events of a resume. */

/** A leaf works with what was there before it in its sequence. */
type Node =
  | { kind: 'step' | 'ask' | 'gate' | 'now'; id: number }
  | { kind: 'sequence' | 'nested' | 'race'; nodes: Node[]; id: number }
  | { kind: 'parallel'; nodes: Node[]; limit: number; id: number }

interface Plan {
  root: Node
  /** In how many executions each leaf fails, by its id. */
  down: ReadonlyMap<number, number>
}

const { node: anyNode } = fc.letrec<{ node: unknown; leaf: unknown }>((tie) => ({
  leaf: fc.record({ kind: fc.constantFrom('step', 'step', 'ask', 'ask', 'now', 'gate') }),
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
  })
  .map(({ nodes, down }) => {
    const root = numbered({ kind: 'sequence', nodes: nodes as Node[], id: 0 })
    return { root, down: new Map(leaves(root).map(({ id }, index) => [id, down[index % down.length] ?? 0])) }
  })

function numbered(root: Node): Node {
  let id = 0
  const visit = (node: Node): Node => {
    const own = { ...node, id: id++ }
    return 'nodes' in own ? { ...own, nodes: own.nodes.map(visit) } : own
  }
  return visit(root)
}

function leaves(node: Node): Node[] {
  return 'nodes' in node ? node.nodes.flatMap(leaves) : node.kind === 'step' || node.kind === 'ask' ? [node] : []
}

/** The leaves that work with what one of these leaves has given. */
function dependentLeaves(node: Node, failing: ReadonlySet<number>): Set<number> {
  const found = new Set<number>()
  const visit = (each: Node, isAfter: boolean): boolean => {
    if (!('nodes' in each)) {
      if (isAfter) found.add(each.id)
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
      try {
        return await context.step(key, () => {
          serve(provider, node.id)
          return `${node.id}(${short(before)})`
        })
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

async function createScene(plan: Plan, store: Store = memoryStore()) {
  const provider: Provider = { execution: 0, plan, served: [] }
  const model = functionModel(({ messages }) => {
    const text = messages.flatMap(({ content }) => (content as { text?: string }[]).flatMap((part) => part.text ?? []))
    const [instruction = ''] = text.slice(-1)
    const id = Number.parseInt(instruction, 10)
    if (provider.execution < (plan.down.get(id) ?? 0)) throw Object.assign(new Error('down'), { status: 402 })
    provider.served.push(id)
    return { text: instruction }
  })
  const troupe = await createTroupeWithStore({
    store,
    model,
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

async function undisturbedOutput(root: Node): Promise<unknown> {
  const { troupe, finish } = await createScene({ root, down: new Map() })
  const handle = await troupe.stream('random', {})
  const { output, status } = await finish(handle.run_id, handle.result)
  expect(status).toBe('completed')
  await troupe.close()
  return output
}

/** Runs a plan and resumes it until nothing is missing. */
async function runPlan(plan: Plan) {
  const scene = await createScene(plan)
  const { troupe, provider, finish, check } = scene
  const { run_id, result } = await troupe.stream('random', {})
  let last = await finish(run_id, result)
  await check(run_id)
  while (last.incomplete) {
    provider.execution += 1
    last = await finish(
      run_id,
      troupe.resume(run_id).then((handle) => handle.result),
    )
    await check(run_id)
  }
  const events = await troupe.events(run_id).all()
  await troupe.close()
  return { last, events, served: provider.served, executions: provider.execution }
}

describe('J22 what depends on a retried step', () => {
  test('J22 random patterns: the result is that of a run without failures, and what depends on none is performed once', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const { last, served } = await runPlan(plan)
        expect([last.error, last.output]).toEqual([null, await undisturbedOutput(plan.root)])
        const failing = new Set([...plan.down].flatMap(([id, times]) => (times > 0 ? id : [])))
        const dependent = dependentLeaves(plan.root, failing)
        const repeated = leaves(plan.root).filter(({ id }) => served.filter((each) => each === id).length !== 1)
        expect(repeated.filter(({ id }) => !dependent.has(id))).toEqual([])
      }),
      { numRuns: 60, seed: 31 },
    )
  })

  test('J22 random patterns, killed between all events of a resume: nothing is lost, done twice, or mixed', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const { events, last, executions } = await runPlan(plan)
        const reopened = events.findLastIndex(({ type }: Event) => type === 'run:reopen')
        fc.pre(reopened !== -1)
        const failing = new Set([...plan.down].flatMap(([id, times]) => (times > 0 ? id : [])))
        const dependent = dependentLeaves(plan.root, failing)
        for (let kept = reopened + 1; kept < events.length; kept++) {
          const scene = await createScene(plan, await createStore(events.slice(0, kept)))
          scene.provider.execution = executions
          const run_id = events[0]?.run_id ?? ''
          const resumed = await scene.finish(
            run_id,
            scene.troupe.resume(run_id).then((handle) => handle.result),
          )
          expect([kept, resumed.output]).toEqual([kept, last.output])
          await scene.check(run_id)
          expect(scene.provider.served.filter((id) => !failing.has(id) && !dependent.has(id))).toEqual([])
          await scene.troupe.close()
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
    const { served, last } = await runPlan({ root, down })
    expect([limit, mask, last.status, [...served].sort()]).toEqual([
      limit,
      mask,
      'completed',
      nodes.map(({ id }) => id),
    ])
  }
})

function patternWith(name: string, execute: (context: Context) => Promise<object>) {
  return definePattern({
    ...{ name, description: 'A pattern of the test', version: 1, category: 'perception' as const },
    input: z.object({}),
    output: z.any(),
    execute: execute as never,
  })
}

test('J23 an answer with `keep` stays when what it depends on is retried; one without is asked for anew', async () => {
  const served: string[] = []
  let isDown = true
  const model = functionModel(({ session, messages }) => {
    if (isDown && session.agent === 'first') throw Object.assign(new Error('down'), { status: 402 })
    served.push(session.agent)
    return {
      text: `${session.agent} ${JSON.stringify(messages).includes('first first') ? 'with' : 'without'} the first`,
    }
  })
  const pattern = patternWith('review', async (context) => {
    const ask = (name: string, instruction: string, keep?: true) =>
      context.perform(agent(name), { instruction, ...(keep ? { keep } : undefined) }, { key: name })
    const { text, error } = await ask('first', 'go')
    const others = [await ask('kept', `first ${text}`, true), await ask('other', `first ${text}`)]
    return { success: true, output: others.map((each) => each.text), incomplete: error ? [error] : [] }
  })
  const agents = ['first', 'kept', 'other'].map((name) => agent(name))
  const troupe = await createTroupeWithStore({ model, agents, patterns: [pattern] })
  const { run_id } = await troupe.run('review', {})
  isDown = false
  const { output } = await (await troupe.resume(run_id)).result
  expect(served).toEqual(['kept', 'other', 'first', 'other'])
  expect(output).toEqual(['kept without the first', 'other with the first'])
  expect((await troupe.replay(run_id)).differences).toEqual([])
  expect(verifyJournal(await troupe.events(run_id).all())).toEqual([])
  await troupe.close()
})

test.each([
  ['retry_keys', 'incomplete', async () => ({ success: true, output: 1, retry_keys: ['a'] })],
  ...(['earlierWork', 'supersede', 'journalKey'] as const).map(
    (name) =>
      [
        name,
        name === 'journalKey' ? 'path' : 'keep',
        async (context: Context) => (context as never as Record<string, () => object>)[name]?.() ?? {},
      ] as const,
  ),
] as const)('J24 a pattern that uses `%s` gets an error that names `%s`', async (removed, instead, execute) => {
  const troupe = await createTroupeWithStore({
    model: functionModel(() => ({})),
    agents: [],
    patterns: [patternWith('old', execute as never)],
  })
  const { error } = await troupe.run('old', {})
  expect([error?.message, error?.hint]).toEqual([expect.stringContaining(removed), expect.stringContaining(instead)])
  await troupe.close()
})
