import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  chunkModel,
  flushEventLoop,
  patternFrom,
  textChunks,
  toolCallChunks,
} from '../../test/support/manual-doubles.ts'
import { countingTools, crashingStore, expectReplayMatches } from '../../test/support/replay-harness.ts'
import { agent, agents, createTestTroupe, functionModel, storeOf, taskCall } from '../../test/support/test-troupe.ts'
import { TroupeError } from '../errors.ts'
import type { RunResult, Store } from '../index.ts'
import { createTroupe } from '../index.ts'
import type { Context } from '../kernel/context.ts'

describe('CA12 custom patterns', () => {
  const work = patternFrom('work', async (context: Context) => {
    const time = await context.now('when')
    const dice = await context.random('dice')
    await context.step('act', async () => 'acted', { kind: 'act' })
    const failed = await context
      .step('fails', () => Promise.reject(new Error('expected')))
      .catch((error: Error) => error.message)
    context.emit('noted', 'custom:noted', { time, dice })
    const done = await context.parallel([1, 2, 3], 2, (n) => context.step(`part/${n}`, async () => n * 2))
    const first = await context.first('race', {
      slow: context.step('slow', () => new Promise((resolve) => setTimeout(resolve, 5, 1))),
      fast: context.step('fast', async () => 2),
    })
    const artifact = await context.writeArtifact('file', { name: 'a.txt', content: `${failed} ${first}` })
    const again = await context.writeArtifact('file2', { name: 'b.txt', content: 'x' })
    const { spent, ...rest } = { spent: await context.readSpend('spent'), artifact, again }
    return { calls: spent.calls, rest, done, answer: await context.ask('q', { question: 'go?' }) }
  })

  test('CA12 steps, races, artifacts, custom events and gates replay to the same journal', async () => {
    const { troupe } = await createTestTroupe({ agents, model: chunkModel(() => []), patterns: [work] })
    const waiting = await troupe.run('work', {})
    await expectReplayMatches(storeOf(troupe), waiting.run_id, { patterns: [work] })
    const result = await (await troupe.answer(waiting.gates[0]?.gate_id ?? '', 'yes')).result
    expect(result.status).toBe('completed')
    await expectReplayMatches(storeOf(troupe), result.run_id, { patterns: [work] })
  })

  test('CA12 a branch that loses a race and is aborted later is handled', async () => {
    const race = patternFrom('race', async (context: Context) => {
      const branches = { a: context.ask('a', { question: 'a?' }), b: context.ask('b', { question: 'b?' }) }
      await context.first('race', branches)
      return context.ask('last', { question: 'more?' })
    })
    const { troupe } = await createTestTroupe({ agents, model: chunkModel(() => []), patterns: [race] })
    const waiting = await troupe.run('race', {})
    const parked = await (await troupe.answer(waiting.gates[0]?.gate_id ?? '', 'yes')).result
    const unhandled: unknown[] = []
    const listeners = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', (reason) => unhandled.push(reason))
    await troupe.cancel(parked.run_id)
    await flushEventLoop()
    process.removeAllListeners('unhandledRejection')
    for (const listener of listeners) process.on('unhandledRejection', listener)
    expect(unhandled).toEqual([])
  })

  test('CA13 a step that is not in the journal is not executed', async () => {
    const done: string[] = []
    const make = (keys: string[]) =>
      patternFrom('work', async (context) => {
        for (const key of keys) await context.step(key, () => void done.push(key), { kind: 'act' })
        return keys.length
      })
    const { troupe } = await createTestTroupe({ agents, model: chunkModel(() => []), patterns: [make(['a', 'b'])] })
    const result = await troupe.run('work', {})
    expect(done).toEqual(['a', 'b'])
    const changed = await createTroupe({ store: storeOf(troupe), patterns: [make(['a', 'new', 'b'])] })
    const report = await changed.replay(result.run_id)
    expect(done).toEqual(['a', 'b'])
    expect(report.same).toBe(false)
    expect(report.differences.map(({ key, type }) => [key, type])).toEqual([
      ['b', 'step:begin'],
      ['b', 'step:end'],
      ['', 'run:end'],
    ])
  })

  test('CA14 differences are reported by key, with the fields that differ', async () => {
    const make = (text: string) =>
      patternFrom('work', async (context) => {
        await context.step('same', async () => 1)
        context.emit('noted', 'custom:noted', { content: { text, loud: true } })
        return text
      })
    const { troupe } = await createTestTroupe({ agents, model: chunkModel(() => []), patterns: [make('old')] })
    const { run_id } = await troupe.run('work', {})
    const report = await (await createTroupe({ store: storeOf(troupe), patterns: [make('new')] })).replay(run_id)
    expect(report.differences).toMatchObject([
      { key: 'noted', type: 'custom:noted', fields: [{ path: 'data.content.text', before: 'old', after: 'new' }] },
      { key: '', type: 'run:end', fields: [{ path: 'data.output', before: 'old', after: 'new' }] },
    ])
  })

  test('CA14 a pattern that this program does not define is unknown_pattern', async () => {
    const { troupe } = await createTestTroupe({ agents, model: chunkModel(() => []), patterns: [work] })
    const { run_id } = await troupe.run('work', {})
    const other = await createTroupe({ store: storeOf(troupe) })
    await expect(other.replay(run_id)).rejects.toMatchObject({
      code: 'unknown_pattern',
      hint: expect.stringContaining('troupe.replay'),
    })
  })
})

test('CA13 a replay makes no model request, calls no tool and no hook, and writes nothing', async () => {
  const { toolCalls, tools } = countingTools()
  const calls: string[] = []
  const hooks = [{ addContext: () => void calls.push('hook'), beforeTool: () => void calls.push('hook') }]
  const model = functionModel(({ session: { turn } }) => {
    calls.push('model')
    return turn < 3 ? { calls: [{ name: 'send', input: { text: `${turn}` } }] } : { text: 'done' }
  })
  const { troupe, task } = await createTestTroupe({ agents, tools, model, hooks: hooks as never })
  const { run_id } = await task('lead', 'go')
  const counts = async () => [toolCalls.length, calls.length, (await troupe.runs().all()).length]
  const before = await counts()
  expect((await troupe.replay(run_id)).same).toBe(true)
  expect(await counts()).toEqual(before)
})

/** A run described by a list of small numbers; its store crashes after `crash` appends. */
async function randomRun(plan: readonly number[], crash: number): Promise<{ store: Store; run: RunResult }> {
  const { tools } = countingTools()
  const team = [...agents, agent('slow', { timeout_ms: 100 })]
  const model = chunkModel(({ key, session: { agent: name, turn } }) => {
    const die = plan[(turn * 7 + key.length * 3 + name.length) % plan.length] ?? 0
    if (name === 'slow' && die > 4) return new Promise((resolve) => setTimeout(resolve, 250, textChunks('late')))
    if (turn > 3 || die === 0) return textChunks(`${name} ends`)
    if (die === 1)
      return toolCallChunks({ name: 'look', input: { text: `${turn}` } }, { name: 'send', input: { text: 'x' } })
    if (die === 2) return toolCallChunks(taskCall('coder', `t${turn}`), taskCall('slow', 'y'))
    if (die === 3) return toolCallChunks(taskCall('critic', 'bg', { background: true }), taskCall('coder', 'z'))
    if (die === 4)
      return toolCallChunks({ name: 'send', input: { text: 'fail' } }, { name: 'ask_user', input: { question: 'q?' } })
    if (die === 5) throw Object.assign(new TroupeError('model_failed', 'as planned'), { status: 500 })
    return [{ type: 'text', text: 'cut' }]
  })
  const retryPolicy = { ready: () => undefined, next: () => undefined }
  const { store, revive } = crashingStore(crash)
  const options = { store, agents: team, tools, model, engine: { retryPolicy }, limits: { depth: 2, calls: 25 } }
  const first = await createTroupe(options)
  const handle = await first.stream('task', { agent: 'lead', instruction: 'go' })
  await handle.result.catch(() => {})
  revive()
  const second = await createTroupe(options)
  let run = await (await second.resume(handle.run_id)).result
  for (let round = 0; run.status === 'waiting' && round < 9; round++) {
    run = await (await second.answer(run.gates[0]?.gate_id ?? '', `a${round}`)).result
  }
  return { store, run }
}

test('CA12 any run replays to the same journal, wherever it crashed', async () => {
  const plan = fc.array(fc.nat(6), { minLength: 3, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(plan, fc.integer({ min: 1, max: 60 }), async (dice, crash) => {
      const { store, run } = await randomRun(dice, crash)
      await expectReplayMatches(store, run.run_id, { agents: [...agents, agent('slow', { timeout_ms: 100 })] })
    }),
    { numRuns: 40 },
  )
})
