import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { answering, calls, inTurn, pattern, says, settle } from '../../test/by-hand.ts'
import { agent, lastInput, playing, script, sessionIn, stage } from '../../test/stage.ts'
import { TroupeError } from '../errors.ts'
import type { RunResult, Store, TroupeOptions } from '../index.ts'
import { createTroupe, defineTool } from '../index.ts'
import type { Context } from '../kernel/context.ts'
import type { AppendOutcome } from '../kernel/journal.ts'
import { MemoryStore } from '../store/memory.ts'

const agents = [agent('lead'), agent('coder'), agent('critic')]
const delegate = (name: string, instruction: string, more = {}) => ({
  name: 'task',
  input: { agent: name, instruction, ...more },
})

/** A store that a crash takes away after so many events: what was committed stays. */
function dyingStore(after: number) {
  const store: Store = new MemoryStore()
  const append = store.append.bind(store)
  let left = after
  store.append = (batch) =>
    batch.flatMap((each) => {
      left -= each.events.length
      if (left < 0) return { ok: false, error: new TroupeError('store_failed', 'the process died') } as const
      return append([each]) as AppendOutcome[]
    })
  return {
    store,
    revive: () => {
      left = Number.POSITIVE_INFINITY
    },
  }
}

/** Replays a run in a troupe that can ask nobody, and expects no difference. */
async function expectSame(store: Store, run_id: string, options: Partial<TroupeOptions> = {}) {
  const before = JSON.stringify(await store.events(run_id))
  const model = answering(() => {
    throw new Error('a model was asked')
  })
  const troupe = await createTroupe({ store, agents, model, ...options })
  const report = await troupe.replay(run_id)
  expect(report.differences).toEqual([])
  expect(report.same).toBe(true)
  expect(report.facts).toBeGreaterThan(0)
  expect(JSON.stringify(await store.events(run_id))).toBe(before)
  return report
}

const counting = () => {
  const made: string[] = []
  const tool = (name: string, kind: 'read' | 'act') =>
    defineTool({
      name,
      description: name,
      kind,
      category: 'action',
      input: z.object({ text: z.string().default('') }),
      execute: ({ text }) => {
        made.push(`${name} ${text}`)
        return text === 'fail' ? { success: false, error: 'as asked' } : { success: true, output: `did ${text}` }
      },
    })
  return { made, tools: [tool('look', 'read'), tool('send', 'act')] }
}

describe('CA12 runs that replay to themselves', () => {
  test('CA12 a completed run with delegation, a resumed session, tools and failures', async () => {
    const { made, tools } = counting()
    const model = playing((request) => {
      const { agent: who, turn } = request.session
      if (who === 'lead' && turn === 1) return { calls: [delegate('coder', 'a'), delegate('critic', 'b')] }
      if (who === 'lead' && turn === 2)
        return { calls: [{ name: 'task', input: { session_id: sessionIn(request), instruction: 'again' } }] }
      if (who === 'lead' && turn === 3)
        return { calls: [delegate('nobody', 'x'), { name: 'task', input: { session_id: 'none', instruction: 'x' } }] }
      if (who === 'lead') return { text: 'done' }
      if (turn === 1)
        return {
          calls: [
            { name: 'look', input: { text: who } },
            { name: 'send', input: { text: 'fail' } },
            { name: 'no-such-tool', input: {} },
            { name: 'look', input: { text: 5 } },
          ],
        }
      return { text: `${who} heard ${lastInput(request).length}` }
    })
    const { troupe, task } = await stage({ agents, tools, model })
    const result = await task('lead', 'go')
    expect(result.status).toBe('completed')
    const calls = made.length
    await expectSame(troupe.store, result.run_id, { tools })
    await expectSame(troupe.store, result.run_id)
    expect(made).toHaveLength(calls)
  })

  test('CA12 runs that crashed anywhere and were resumed', async () => {
    const { tools } = counting()
    const model = () =>
      playing(({ session: { agent: who, turn } }) => {
        if (who === 'lead' && turn === 1) return { calls: [delegate('coder', 'a'), delegate('critic', 'b')] }
        if (who === 'lead') return { text: 'done' }
        return turn === 1 ? { calls: [{ name: 'send', input: { text: who } }] } : { text: 'ok' }
      })
    for (let after = 1; after < 30; after++) {
      const { store, revive } = dyingStore(after)
      const dying = await createTroupe({ store, agents, tools, model: model() })
      const handle = await dying.stream('task', { agent: 'lead', instruction: 'go' })
      await handle.result.catch(() => {})
      revive()
      await expectSame(store, handle.run_id, { tools })
      const living = await createTroupe({ store, agents, tools, model: model() })
      const result = await (await living.resume(handle.run_id)).result
      expect(result.status).toBe('completed')
      await expectSame(store, handle.run_id, { tools })
    }
  })

  test('CA12 a run that waits, one that was answered, and one that was answered by a permission', async () => {
    const { made, tools } = counting()
    const model = playing(({ session: { agent: who, turn } }) => {
      if (who === 'lead' && turn === 1) return { calls: [delegate('coder', 'a'), delegate('critic', 'b')] }
      if (who === 'coder' && turn === 1) return { calls: [{ name: 'ask_user', input: { question: 'which?' } }] }
      if (who === 'critic' && turn === 1) return { calls: [{ name: 'send', input: { text: 'x' } }] }
      return { text: `${who} done` }
    })
    const permissions = { ask: ['send'] }
    const { troupe, task } = await stage({ agents, tools, model, permissions })
    const waiting = await task('lead', 'go')
    expect(waiting.status).toBe('waiting')
    await expectSame(troupe.store, waiting.run_id, { tools, permissions })
    for (const gate of await troupe.inbox()) {
      const answer = gate.question.startsWith('May') ? 'allow' : 'the red one'
      await (await troupe.answer(gate.gate_id, answer, { by: 'ann' })).result
      await expectSame(troupe.store, waiting.run_id, { tools, permissions })
    }
    expect((await troupe.result(waiting.run_id)).status).toBe('completed')
    expect(made).toEqual(['send x'])
  })

  test('CA12 a run that was cancelled while models and tools were at work', async () => {
    const stuck = defineTool({
      name: 'stuck',
      description: 'never ends',
      kind: 'act',
      category: 'action',
      input: z.object({}),
      execute: (_input, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    const model = answering(({ session: { agent: who, turn } }) => {
      if (who === 'lead' && turn === 1)
        return calls(delegate('coder', 'a'), delegate('critic', 'b'), delegate('coder', 'c'))
      if (who === 'coder') return turn === 1 ? calls({ name: 'stuck' }) : says('no')
      return new Promise<never>(() => {})
    })
    const { troupe } = await stage({ agents, tools: [stuck], model })
    const handle = await troupe.stream('task', { agent: 'lead', instruction: 'go' })
    await settle(20)
    const cancelled = await troupe.cancel(handle.run_id, 'enough')
    expect(cancelled.status).toBe('cancelled')
    await expectSame(troupe.store, handle.run_id, { tools: [stuck] })
    await expectSame(troupe.store, handle.run_id)
  })

  test('CA12 runs that failed, and were reopened with more', async () => {
    let broken = true
    const model = answering(({ session: { agent: who, turn } }) => {
      if (who === 'lead' && turn === 1) return calls(delegate('coder', 'a'))
      if (who === 'lead' && broken) throw new Error('the provider is down')
      return says(`${who} done`)
    })
    const none = { pacing: { ready: () => undefined, next: () => undefined } }
    const { troupe, task } = await stage({ agents, model, engine: none, limits: { calls: 3 } })
    const failed = await task('lead', 'go')
    expect(failed.status).toBe('failed')
    await expectSame(troupe.store, failed.run_id)
    broken = false
    const limited = await (await troupe.resume(failed.run_id)).result
    expect(limited).toMatchObject({ status: 'failed', error: { code: 'limit_reached' } })
    await expectSame(troupe.store, failed.run_id)
    const done = await (await troupe.resume(failed.run_id, { limits: { calls: 9 } })).result
    expect(done.status).toBe('completed')
    await expectSame(troupe.store, failed.run_id)
  })

  test('CA12 calls that were tried again, refusals, and models that were not there', async () => {
    const staff = [agent('lead'), agent('coder', { model: 'nobody/none' }), agent('critic')]
    const pacing = {
      ready: () => undefined,
      next: ({ model, error, attempts }: { model: string; error: TroupeError; attempts: number }) =>
        error.retry && attempts < 3 ? { model, delay_ms: 1 } : undefined,
    }
    const model = script(
      { when: { agent: 'lead', turn: 1 }, times: 1, reply: { error: { status: 503, message: 'busy' } } },
      { when: { agent: 'lead', turn: 1 }, reply: { toolCalls: [delegate('coder', 'a'), delegate('critic', 'b')] } },
      { when: { agent: 'critic' }, reply: { text: 'no', stop: 'refusal' } },
      { reply: { text: 'done' } },
    )
    const { troupe, task } = await stage({ agents: staff, model, engine: { pacing } })
    const result = await task('lead', 'go')
    expect(result.status).toBe('completed')
    await expectSame(troupe.store, result.run_id)
  })

  test('CA12 sessions that ran out of time, one below the other', async () => {
    const staff = [agent('lead'), agent('coder', { timeout_ms: 40 }), agent('critic', { timeout_ms: 20_000 })]
    const model = answering(({ session: { agent: who, turn } }) => {
      if (who === 'lead' && turn === 1) return calls(delegate('coder', 'a'), delegate('critic', 'b'))
      if (who === 'coder' && turn === 1) return calls(delegate('critic', 'below'))
      if (who === 'critic' && turn === 1) return says('quick')
      return who === 'lead' ? says('done') : new Promise<never>(() => {})
    })
    const { troupe, task } = await stage({ agents: staff, model, limits: { depth: 2 } })
    const result = await task('lead', 'go')
    expect(result.status).toBe('completed')
    expect(JSON.stringify(await troupe.events(result.run_id))).toContain('"timeout"')
    await expectSame(troupe.store, result.run_id)
  })

  test('CA12 background work, hooks that add and change, and a session of another run', async () => {
    const { tools } = counting()
    const model = playing((request) => {
      const { agent: who, turn } = request.session
      if (who === 'lead' && turn === 1)
        return { calls: [delegate('coder', 'a', { background: true }), delegate('critic', 'b')] }
      if (who === 'lead' && turn === 2) return { calls: [{ name: 'look', input: { text: 'first' } }] }
      if (who === 'lead' && turn === 3) return { text: 'not yet' }
      return { text: `${who} ${turn}: ${lastInput(request).slice(0, 20)}` }
    })
    const hooks = [
      {
        addContext: ({ turn }: { turn: number }) => (turn === 2 ? 'remember the milk' : undefined),
        beforeTool: ({ tool }: { tool: string }) =>
          tool === 'look' ? { input: { text: 'changed' } } : tool === 'critic' ? { deny: 'no' } : undefined,
      },
    ]
    const { troupe, task } = await stage({ agents, tools, model, hooks })
    const first = await task('lead', 'go')
    expect(first.status).toBe('completed')
    await expectSame(troupe.store, first.run_id, { tools })
    const { session_id } = first.output as { session_id: string }
    const second = await troupe.run('task', { session_id, instruction: 'and now?' })
    expect(second.status).toBe('completed')
    await expectSame(troupe.store, second.run_id, { tools })
    const third = await troupe.run('task', { session_id: `${session_id}-not`, instruction: 'and now?' })
    expect(third.status).toBe('failed')
    await expectSame(troupe.store, third.run_id, { tools })
  })

  test('CA12 a conversation that was compressed', async () => {
    const look = calls({ name: 'look', input: { text: 'x'.repeat(400) } }).slice(0, 1)
    const uncounted = [...look, { type: 'finish' as const, stop: 'tool_calls' as const }]
    const model = answering(inTurn(...Array.from({ length: 12 }, () => uncounted), says('done')))
    const small = { ...model, limits: { context: 2000 } }
    const { tools } = counting()
    const { troupe, task } = await stage({ agents, tools, model: small, models: { summary: 'by-hand' } })
    const result = await task('lead', 'go')
    expect(await troupe.events(result.run_id)).toContainEqual(expect.objectContaining({ type: 'session:compress' }))
    await expectSame(troupe.store, result.run_id, { tools })
  })
})

describe('CA12 patterns of a program', () => {
  const work = pattern('work', async (context: Context) => {
    const at = await context.now('when')
    const dice = await context.random('dice')
    await context.step('act', async () => 'acted', { kind: 'act' })
    const failed = await context
      .step('fails', () => Promise.reject(new Error('as asked')))
      .catch((error: Error) => error.message)
    context.emit('told', 'custom:told', { at, dice })
    const done = await context.parallel([1, 2, 3], 2, (n) => context.step(`part/${n}`, async () => n * 2))
    const first = await context.first('race', {
      slow: context.step('slow', () => new Promise((resolve) => setTimeout(resolve, 5, 1))),
      fast: context.step('fast', async () => 2),
    })
    const artifact = await context.writeArtifact('file', { name: 'a.txt', content: `${failed} ${first}` })
    const again = await context.writeArtifact('file2', { name: 'b.txt', content: 'x' })
    const { spent, ...rest } = { spent: await context.spent('spent'), artifact, again }
    return { calls: spent.calls, rest, done, answer: await context.ask('q', { question: 'go?' }) }
  })

  test('CA12 steps, races, artifacts, emitted facts and questions', async () => {
    const { troupe } = await stage({ agents, model: answering(() => []), patterns: [work] })
    const waiting = await troupe.run('work', {})
    await expectSame(troupe.store, waiting.run_id, { patterns: [work] })
    const result = await (await troupe.answer(waiting.gates[0]?.gate_id ?? '', 'yes')).result
    expect(result.status).toBe('completed')
    await expectSame(troupe.store, result.run_id, { patterns: [work] })
  })

  test('CA13 a step that the journal does not know is not done', async () => {
    const done: string[] = []
    const make = (keys: string[]) =>
      pattern('work', async (context) => {
        for (const key of keys) await context.step(key, () => void done.push(key), { kind: 'act' })
        return keys.length
      })
    const { troupe } = await stage({ agents, model: answering(() => []), patterns: [make(['a', 'b'])] })
    const result = await troupe.run('work', {})
    expect(done).toEqual(['a', 'b'])
    const changed = await createTroupe({ store: troupe.store, patterns: [make(['a', 'new', 'b'])] })
    const report = await changed.replay(result.run_id)
    expect(done).toEqual(['a', 'b'])
    expect(report.same).toBe(false)
    expect(report.differences.map(({ key, type }) => [key, type])).toEqual([
      ['b', 'step:begin'],
      ['b', 'step:end'],
      ['', 'run:end'],
    ])
  })

  test('CA14 differences are named by key, with what differs there', async () => {
    const make = (say: string) =>
      pattern('work', async (context) => {
        await context.step('same', async () => 1)
        context.emit('said', 'custom:said', { words: { say, loud: true } })
        return say
      })
    const { troupe } = await stage({ agents, model: answering(() => []), patterns: [make('old')] })
    const { run_id } = await troupe.run('work', {})
    const report = await (await createTroupe({ store: troupe.store, patterns: [make('new')] })).replay(run_id)
    expect(report.differences).toMatchObject([
      { key: 'said', type: 'custom:said', fields: [{ path: 'data.words.say', before: 'old', after: 'new' }] },
      { key: '', type: 'run:end', fields: [{ path: 'data.output', before: 'old', after: 'new' }] },
    ])
  })

  test('CA14 a pattern that this program does not have is named', async () => {
    const { troupe } = await stage({ agents, model: answering(() => []), patterns: [work] })
    const { run_id } = await troupe.run('work', {})
    const other = await createTroupe({ store: troupe.store })
    await expect(other.replay(run_id)).rejects.toMatchObject({
      code: 'unknown_pattern',
      hint: expect.stringContaining('troupe.replay'),
    })
  })
})

test('CA13 a replay asks no model, calls no tool and no hook, and writes nothing', async () => {
  const { made, tools } = counting()
  const asked: string[] = []
  const hooks = [{ addContext: () => void asked.push('hook'), beforeTool: () => void asked.push('hook') }]
  const model = playing(({ session: { turn } }) => {
    asked.push('model')
    return turn < 3 ? { calls: [{ name: 'send', input: { text: `${turn}` } }] } : { text: 'done' }
  })
  const { troupe, task } = await stage({ agents, tools, model, hooks: hooks as never })
  const { run_id } = await task('lead', 'go')
  const [calls, questions, runs] = [made.length, asked.length, (await troupe.runs()).length]
  expect((await troupe.replay(run_id)).same).toBe(true)
  expect([made.length, asked.length, (await troupe.runs()).length]).toEqual([calls, questions, runs])
})

/** A run that a list of small numbers describes. */
async function randomRun(plan: readonly number[], crash: number): Promise<{ store: Store; run: RunResult }> {
  const { tools } = counting()
  const staff = [...agents, agent('slow', { timeout_ms: 5 })]
  const model = answering(({ key, session: { agent: who, turn } }) => {
    const die = plan[(turn * 7 + key.length * 3 + who.length) % plan.length] ?? 0
    if (who === 'slow' && die > 4) return new Promise((resolve) => setTimeout(resolve, 40, says('late')))
    if (turn > 3 || die === 0) return says(`${who} ends`)
    if (die === 1) return calls({ name: 'look', input: { text: `${turn}` } }, { name: 'send', input: { text: 'x' } })
    if (die === 2) return calls(delegate('coder', `t${turn}`), delegate('slow', 'y'))
    if (die === 3) return calls(delegate('critic', 'bg', { background: true }), delegate('coder', 'z'))
    if (die === 4)
      return calls({ name: 'send', input: { text: 'fail' } }, { name: 'ask_user', input: { question: 'q?' } })
    if (die === 5) throw Object.assign(new TroupeError('model_failed', 'as planned'), { status: 500 })
    return [{ type: 'text', text: 'cut' }]
  })
  const pacing = { ready: () => undefined, next: () => undefined }
  const { store, revive } = dyingStore(crash)
  const options = { store, agents: staff, tools, model, engine: { pacing }, limits: { depth: 2, calls: 25 } }
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

test('CA12 any run, crashed anywhere, replays to itself', { timeout: 60_000 }, async () => {
  const plan = fc.array(fc.nat(6), { minLength: 3, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(plan, fc.integer({ min: 1, max: 60 }), async (dice, crash) => {
      const { store, run } = await randomRun(dice, crash)
      await expectSame(store, run.run_id, { agents: [...agents, agent('slow', { timeout_ms: 5 })] })
    }),
    { numRuns: 60 },
  )
})
