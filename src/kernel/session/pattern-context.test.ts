import { describe, expect, test } from 'vitest'
import { chunkModel, patternFrom, textChunks, toolCallChunks } from '../../../test/support/manual-doubles.ts'
import { memoryStore } from '../../../test/support/memory-store.ts'
import { agent, runToEnd } from '../../../test/support/test-troupe.ts'
import { realWorld } from '../../engine/real-world.ts'
import type { Pattern } from '../../entries/patterns.ts'
import type { TroupeOptions } from '../../index.ts'
import { createTroupe } from '../../index.ts'
import { totalTokens } from '../spend.ts'

const helper = agent('helper', { tools: [] })
const lead = agent('lead')
const model = () =>
  chunkModel(({ session }) =>
    session.agent === 'lead' && session.turn === 1
      ? toolCallChunks({ name: 'talk' }, { name: 'talk' })
      : textChunks('ok'),
  )

function troupeWith(patterns: Pattern[], more: TroupeOptions = {}) {
  return createTroupe({ store: 'memory', embedder: false, model: model(), agents: [lead, helper], patterns, ...more })
}

describe('pattern context', () => {
  test('CO51 readSpend here covers the subtree of the pattern, even with parallel calls; the default is the whole run', async () => {
    const talk = patternFrom(
      'talk',
      async (context) => {
        await context.perform(helper, { instruction: 'x' }, { key: 'one' })
        await context.perform(helper, { instruction: 'y' }, { key: 'two' })
        return totalTokens(await context.readSpend('spent', 'here'))
      },
      { delegation: { self: 'count', cycles: 'refuse' } },
    )
    const troupe = await troupeWith([talk])
    expect((await troupe.run('talk', {})).output).toBe(30)
    const { run_id } = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    const posts = (await troupe.events(run_id).all()).filter(({ type }) => type === 'tool:post')
    expect(posts.map(({ data }) => (data as { output?: unknown }).output)).toEqual([30, 30])
    expect((await troupe.result(run_id)).usage).toMatchObject({ input: 60, output: 30 })
  })

  test('CO51 readSpend is recorded: a resumed run sees the same value', async () => {
    const store = memoryStore()
    const seen: number[] = []
    const talk = patternFrom('talk', async (context) => {
      await context.perform(helper, { instruction: 'x' }, { key: 'one' })
      const spent = await context.readSpend('spent', 'here')
      seen.push(totalTokens(spent))
      await context.ask('wait', { question: 'Continue?' })
      await context.perform(helper, { instruction: 'y' }, { key: 'two' })
      return totalTokens(spent)
    })
    const troupe = await troupeWith([talk], { store })
    const waiting = await troupe.run('talk', {})
    const done = await (await troupe.answer(waiting.gates[0]?.gate_id ?? '', 'yes')).result
    expect(done.output).toBe(15)
    expect(seen).toEqual([15, 15])
  })

  test('PT14 the effect of a step reads clock and spend; one event records them, and a resumed run sees the same', async () => {
    const store = memoryStore()
    const seen: unknown[] = []
    const talk = patternFrom('talk', async (context) => {
      const known = context.isRecorded('facts')
      const facts = await context.step('facts', (_, { now, spend }) => ({ now: now(), calls: spend('here').calls }))
      seen.push([known, facts])
      await context.ask('wait', { question: 'Continue?' })
      return facts
    })
    const troupe = await troupeWith([talk], { store })
    const waiting = await troupe.run('talk', {})
    const done = await (await troupe.answer(waiting.gates[0]?.gate_id ?? '', 'yes')).result
    expect(seen).toEqual([false, true].map((known) => [known, done.output]))
    const steps = (await troupe.events(done.run_id).all()).filter(({ type }) => type === 'step:end')
    expect(steps.map(({ data }) => data)).toMatchObject([
      { key: 'facts', result: { now: expect.any(Number), calls: 0 } },
    ])
  })

  test('CO52 recall returns completed runs of a pattern in this project, newest first, with input and output', async () => {
    const note = patternFrom('note', async (context) => {
      if (context.project === 'bad') throw new Error('no')
      return `of ${context.project}`
    })
    const look = patternFrom('look', async (context) => ({
      all: await context.recall('all', { pattern: 'note' }),
      one: await context.recall('one', { pattern: 'note', limit: 1 }),
      named: await context.recall('named', { pattern: 'note', run_id: first.run_id }),
      wrong: await context.recall('wrong', { pattern: 'look', run_id: first.run_id }),
    }))
    const store = memoryStore()
    let ticks = Date.UTC(2030, 0, 1)
    const world = Object.assign(realWorld(), { now: () => ticks++ })
    const troupe = await troupeWith([note, look], { store, engine: { world } })
    const otherProject = await troupeWith([note], { store, project: 'other' })
    const failing = await troupeWith([note], { store, project: 'bad' })
    const first = await troupe.run('note', { n: 1 })
    const second = await troupe.run('note', { n: 2 })
    await otherProject.run('note', { n: 3 })
    await runToEnd(failing, 'note' as string, { n: 4 })
    const found = (await troupe.run('look', {})).output as Record<string, { run_id: string }[]>
    const newest = { run_id: second.run_id, input: { n: 2 }, output: 'of default' }
    const oldest = { run_id: first.run_id, input: { n: 1 }, output: 'of default' }
    expect(found.all).toEqual([newest, oldest])
    expect(found.one).toEqual([newest])
    expect(found.named).toEqual([oldest])
    expect(found.wrong).toEqual([])
  })

  test('CO52 recall is recorded: runs that end later do not change it', async () => {
    const store = memoryStore()
    const note = patternFrom('note', async () => 'noted')
    const look = patternFrom('look', async (context) => {
      const before = await context.recall('notes', { pattern: 'note' })
      await context.ask('wait', { question: 'Continue?' })
      return before.length
    })
    const troupe = await troupeWith([note, look], { store })
    const waiting = await troupe.run('look', {})
    await troupe.run('note', {})
    const done = await (await troupe.answer(waiting.gates[0]?.gate_id ?? '', 'yes')).result
    expect(done.output).toBe(0)
  })

  test('CO53 an internal call ignores the agents list of the caller, but keeps to limits.depth', async () => {
    const talk = patternFrom(
      'talk',
      async (context) => {
        const systemAgent = { ...helper, name: 'system' }
        const internal = await context.perform(systemAgent, { instruction: 'x', internal: true }, { key: 'internal' })
        const chosen = await context
          .perform(systemAgent, { instruction: 'x' }, { key: 'chosen' })
          .catch((error: Error) => error.message)
        return [internal.status, chosen]
      },
      { delegation: { self: 'count', cycles: 'refuse' } },
    )
    const restricted = { ...lead, agents: ['helper'] }
    const callsOnce = chunkModel(({ session }) =>
      session.agent === 'lead' && session.turn === 1 ? toolCallChunks({ name: 'talk' }) : textChunks('ok'),
    )
    const troupe = await troupeWith([talk], { agents: [restricted, helper], model: callsOnce })
    const { run_id } = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    const post = (await troupe.events(run_id).all()).find(({ type }) => type === 'tool:post')
    expect(post?.data).toMatchObject({ output: ['completed', 'lead may not delegate to system'] })
    const deep = patternFrom('talk', (context) =>
      context.perform({ ...helper, name: 'system' }, { instruction: 'x', internal: true }, { key: 'e' }),
    )
    const flat = await troupeWith([deep], {
      agents: [restricted, helper],
      model: chunkModel(({ session }) => (session.turn === 1 ? toolCallChunks({ name: 'talk' }) : textChunks('ok'))),
      limits: { depth: 0 },
    })
    const result = await flat.run('task', { agent: 'lead', instruction: 'go' })
    const error = (await flat.events(result.run_id).all()).find(({ type }) => type === 'tool:error')
    expect(error?.data).toMatchObject({ detail: { code: 'depth_exceeded' } })
  })
})
