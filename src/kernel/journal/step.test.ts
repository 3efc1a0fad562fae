import { describe, expect, test } from 'vitest'
import {
  chunkModel,
  eventData,
  flushEventLoop,
  patternFrom,
  pausableStore,
} from '../../../test/support/manual-doubles.ts'
import { memoryStore } from '../../../test/support/memory-store.ts'
import { createTestTroupe, runToEnd } from '../../../test/support/test-troupe.ts'
import type { TroupeError } from '../../errors.ts'
import type { TroupeOptions } from '../../runtime/troupe-options.ts'
import type { Store } from '../../store/store.ts'
import type { Context } from '../context.ts'
import type { Pattern } from '../pattern.ts'

const model = chunkModel(() => [])

type Work = (context: Context) => Promise<unknown>

/** Runs and resumes different versions of one pattern over one store. */
function patternVersions(store: Store = memoryStore()) {
  const troupeWith = async (work: Work, more: Partial<Pattern> = {}, options: TroupeOptions = {}) =>
    (await createTestTroupe({ store, model, patterns: [patternFrom('work', work, more)], ...options })).troupe
  return {
    store,
    run: async (work: Work) => runToEnd(await troupeWith(work), 'work' as string, {}),
    resume: async (run_id: string, work: Work, more?: Partial<Pattern>, options?: TroupeOptions) =>
      (await (await troupeWith(work, more, options)).resume(run_id)).result,
    events: () => store.runs({ project: 'default' }).then(([run]) => store.events(run?.run_id ?? '')),
  }
}

const fail = () => {
  throw new Error('not yet')
}

describe('steps', () => {
  test('J8 J17 a resumed run uses recorded outcomes and repeats only the step whose error ended it', async () => {
    const { run, resume } = patternVersions()
    const effects: string[] = []
    const work = (last: () => unknown) => async (context: Context) => {
      const a = await context.step('a', () => effects.push('a'))
      const b = await context.step('b', () => effects.push('b'))
      return [a, b, await context.step('c', last)]
    }
    const failed = await run(work(fail))
    expect(failed).toMatchObject({ status: 'failed', error: { message: 'not yet', step: 'c' } })
    const resumed = await resume(
      failed.run_id,
      work(() => 'there'),
    )
    expect(resumed).toMatchObject({ status: 'completed', output: [1, 2, 'there'] })
    expect(effects).toEqual(['a', 'b'])
  })

  test('J17 an error that the code caught stays recorded', async () => {
    const { run, resume } = patternVersions()
    let tries = 0
    const work = (last: () => unknown) => async (context: Context) => {
      const caught = await context.step('flaky', () => (tries++ === 0 ? fail() : 'fine')).catch((e: Error) => e.message)
      return [caught, await context.step('c', last)]
    }
    const failed = await run(work(fail))
    expect(
      await resume(
        failed.run_id,
        work(() => 1),
      ),
    ).toMatchObject({ output: ['not yet', 1] })
    expect(tries).toBe(1)
  })

  test('J8 keys are relative to their pattern, so the same key in two patterns is two steps', async () => {
    const store = memoryStore()
    const inner = patternFrom('inner', (context) => context.step('x', () => context.run_id.length))
    const outer = patternFrom('outer', async (context) => [
      await context.run('inner', {}, { key: 'one' }),
      await context.run('inner', {}, { key: 'two' }),
      await context.step('x', () => 'mine'),
    ])
    const { troupe } = await createTestTroupe({ store, model, patterns: [inner, outer] })
    const { run_id, output } = await troupe.run('outer', {})
    expect(output).toEqual([14, 14, 'mine'])
    expect(eventData(await troupe.events(run_id).all(), 'step:end').map(({ key }) => key)).toEqual([
      'one/x',
      'two/x',
      'x',
    ])
  })

  test('J9 claiming the same key twice in one execution fails with duplicate_step', async () => {
    const { run } = patternVersions()
    const failed = await run(async (context) => {
      await context.step('a', () => 1)
      return context.step('a', () => 2)
    })
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'duplicate_step', responsible: 'developer' } })
    expect(failed.error?.message).toContain("'a'")
  })

  test('J10 an error is recorded and thrown again with the same code, message, hint and step', async () => {
    const { run, resume, events } = patternVersions()
    const seen: unknown[] = []
    const work = (last: () => unknown) => async (context: Context) => {
      await context.step('a', fail).catch((error: TroupeError) => seen.push(error.toJSON()))
      return context.step('b', last)
    }
    const { run_id } = await run(work(fail))
    await resume(
      run_id,
      work(() => 1),
    )
    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
    expect(eventData(await events(), 'step:error').filter(({ key }) => key === 'a')).toHaveLength(1)
  })

  test('J11 a result has its JSON form, live and on resume', async () => {
    const { run, resume } = patternVersions()
    const seen: unknown[] = []
    const work = (last: () => unknown) => async (context: Context) => {
      const odd = { at: new Date(0), none: undefined, not: Number.NaN, deep: [new Map([[1, 2]])] }
      seen.push(await context.step('a', () => odd), await context.step('b', () => undefined))
      return context.step('c', last)
    }
    const { run_id } = await run(work(fail))
    await resume(
      run_id,
      work(() => 1),
    )
    const plain = { at: '1970-01-01T00:00:00.000Z', not: null, deep: [{}] }
    expect(seen).toEqual([plain, null, plain, null])
  })

  test('J11 a result that JSON cannot represent fails the step', async () => {
    const { run } = patternVersions()
    const circle: { self?: unknown } = {}
    circle.self = circle
    expect((await run((context) => context.step('a', () => circle))).error).toMatchObject({ step: 'a' })
    expect((await run((context) => context.step('a', () => 10n))).error).toMatchObject({ step: 'a' })
    expect((await run((context) => context.step('a', () => () => 1))).status).toBe('failed')
  })

  test('J20 a pattern that throws, or returns no valid result, fails its run with the reason', async () => {
    const noResult = patternFrom('no-result', async () => 1, { execute: (async () => undefined) as never })
    const throwing = patternFrom('throwing', async () => 1, {
      execute: (() => {
        throw new Error('before any promise')
      }) as never,
    })
    const bigint = patternFrom('bigint', async () => 10n)
    const { troupe } = await createTestTroupe({ model, patterns: [noResult, throwing, bigint] })
    expect(await runToEnd(troupe, 'bigint', {})).toMatchObject({ status: 'failed', error: { code: 'internal' } })
    expect(await runToEnd(troupe, 'no-result', {})).toMatchObject({ status: 'failed', error: { code: 'internal' } })
    expect(await runToEnd(troupe, 'throwing', {})).toMatchObject({
      status: 'failed',
      error: { message: 'before any promise' },
    })
  })
})

describe('newer code with an older journal', () => {
  const withInput = (input: string, last: () => unknown) => async (context: Context) => {
    const a = await context.step('a', () => input, { input })
    return [a, await context.step('b', last)]
  }

  test('J12 a changed step input emits step:drift, and the record is used', async () => {
    const { run, resume, events } = patternVersions()
    const { run_id } = await run(withInput('old', fail))
    expect(
      (
        await resume(
          run_id,
          withInput('new', () => 1),
        )
      ).output,
    ).toEqual(['old', 1])
    expect(eventData(await events(), 'step:drift')).toMatchObject([{ key: 'a' }])
  })

  test('J12 with engine.strict a changed step input fails the run', async () => {
    const { run, resume, events } = patternVersions()
    const { run_id } = await run(withInput('old', fail))
    const strict = { engine: { strict: true } }
    const failed = await resume(
      run_id,
      withInput('new', () => 1),
      {},
      strict,
    )
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'step_drift' } })
    expect(eventData(await events(), 'step:drift')).toEqual([])
  })

  test('J12 equal input with another key order is no drift', async () => {
    const { run, resume, events } = patternVersions()
    const work = (input: object, last: () => unknown) => async (context: Context) => {
      await context.step('a', () => 1, { input })
      return context.step('b', last)
    }
    const { run_id } = await run(work({ x: 1, y: { a: 1, b: 2 } }, fail))
    await resume(
      run_id,
      work({ y: { b: 2, a: 1 }, x: 1 }, () => 1),
    )
    expect(eventData(await events(), 'step:drift')).toEqual([])
  })

  test('J13 records are found under the new names of renamedKeys', async () => {
    const { run, resume } = patternVersions()
    let paid = 0
    const work = (prefix: string, last: () => unknown) => async (context: Context) => {
      await context.step(`${prefix}/pay`, () => ++paid, { kind: 'act' })
      return [await context.step(`${prefix}/look`, () => ++paid), await context.step('c', last)]
    }
    const { run_id } = await run(work('old/shop', fail))
    const renamedKeys = { 'old/shop': 'store', old: 'nowhere' }
    expect(
      (
        await resume(
          run_id,
          work('store', () => 1),
          { renamedKeys },
        )
      ).output,
    ).toEqual([2, 1])
    expect(paid).toBe(2)
  })

  test('J14 a recorded action that the code no longer claims stops the run before any new action', async () => {
    const { run, resume } = patternVersions()
    const done: string[] = []
    const work = (action: string, last: () => unknown) => async (context: Context) => {
      await context.step(action, () => done.push(action), { kind: 'act' })
      return context.step('c', last)
    }
    const { run_id } = await run(work('pay', fail))
    const stopped = await resume(
      run_id,
      work('charge', () => 1),
    )
    expect(stopped).toMatchObject({ status: 'failed', error: { code: 'unclaimed_action' } })
    expect(stopped.error?.message).toContain("'pay'")
    expect(done).toEqual(['pay'])
    expect(
      await resume(
        run_id,
        work('pay', () => 'continued'),
      ),
    ).toMatchObject({ output: 'continued' })
  })

  test('J14 an action that began without an outcome fails with outcome_unknown and is not repeated', async () => {
    const controlled = pausableStore()
    const { run, resume } = patternVersions(controlled.store)
    const work = (act: () => unknown) => (context: Context) => context.step('pay', act, { kind: 'act' })
    const crashing = run(work(() => controlled.failWith(new Error('power cut'))))
    await expect(crashing).rejects.toMatchObject({ code: 'store_failed' })
    controlled.failWith(undefined)
    const [row] = await controlled.store.runs({ project: 'default' })
    let again = 0
    const resumed = await resume(
      row?.run_id ?? '',
      work(() => ++again),
    )
    expect(resumed).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown', step: 'pay' } })
    expect(again).toBe(0)
  })
})

describe('recorded values', () => {
  test('J15 now, random, readSpend and first return the same on resume', async () => {
    const { run, resume } = patternVersions()
    const seen: unknown[] = []
    const work = (slow: string, last: () => unknown) => async (context: Context) => {
      const branch = (name: string) => context.step(name, () => (name === slow ? flushEventLoop(3) : undefined))
      const winner = await context.first('winner', { a: branch('a'), b: branch('b') })
      seen.push([await context.now('now'), await context.random('random'), await context.readSpend('spent'), winner])
      return context.step('c', last)
    }
    const { run_id } = await run(work('a', fail))
    await resume(
      run_id,
      work('b', () => 1),
    )
    expect(seen).toHaveLength(2)
    expect(seen[0]).toMatchObject({ 3: 'b' })
    expect(seen[1]).toEqual(seen[0])
  })

  test('J16 an emitted event is written once per key, however often the run is resumed', async () => {
    const { run, resume, events } = patternVersions()
    const work = (last: () => unknown) => async (context: Context) => {
      context.emit('note', 'custom:note', { text: 'hello' })
      return context.step('c', last)
    }
    const { run_id } = await run(work(fail))
    await resume(run_id, work(fail))
    await resume(
      run_id,
      work(() => 1),
    )
    expect(eventData(await events(), 'custom:note')).toEqual([{ key: 'note', text: 'hello' }])
  })

  test('J18 parallel keeps the order of the items, its limit, and failures apart', async () => {
    const { run } = patternVersions()
    let inFlight = 0
    let maxInFlight = 0
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
    const running = run((context) =>
      context.parallel([0, 1, 2, 3, 4], 2, (item) =>
        context.step(`${item}`, async () => {
          maxInFlight = Math.max(maxInFlight, ++inFlight)
          await gates[item]?.promise
          inFlight -= 1
          if (item === 1) throw new Error('item 1 failed')
          return item * 10
        }),
      ),
    )
    for (const item of [1, 0, 3, 2, 4]) {
      await flushEventLoop(2)
      gates[item]?.resolve()
    }
    const { output, status } = await running
    expect(output).toMatchObject([
      { ok: true, value: 0 },
      { ok: false, error: { message: 'item 1 failed' } },
      { ok: true, value: 20 },
      { ok: true, value: 30 },
      { ok: true, value: 40 },
    ])
    expect([status, maxInFlight]).toEqual(['completed', 2])
  })
})
