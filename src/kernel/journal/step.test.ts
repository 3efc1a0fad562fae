import { describe, expect, test } from 'vitest'
import {
  chunkModel,
  eventData,
  flushEventLoop,
  patternFrom,
  pausableStore,
} from '../../../test/support/manual-doubles.ts'
import { createTestTroupe } from '../../../test/support/test-troupe.ts'
import type { TroupeError } from '../../errors.ts'
import type { TroupeOptions } from '../../runtime/troupe-options.ts'
import { MemoryStore } from '../../store/memory.ts'
import type { Store } from '../../store/store.ts'
import type { Context } from '../context.ts'
import type { Pattern } from '../pattern.ts'

const model = chunkModel(() => [])

type Work = (context: Context) => Promise<unknown>

/** One pattern, in as many versions as a test likes, over one store. */
function play(store: Store = new MemoryStore()) {
  const on = async (work: Work, more: Partial<Pattern> = {}, options: TroupeOptions = {}) =>
    (await createTestTroupe({ store, model, patterns: [patternFrom('play', work, more)], ...options })).troupe
  return {
    store,
    run: async (work: Work) => (await on(work)).run('play', {}),
    resume: async (run_id: string, work: Work, more?: Partial<Pattern>, options?: TroupeOptions) =>
      (await (await on(work, more, options)).resume(run_id)).result,
    events: () => store.runs({ project: 'default' }).then(([run]) => store.events(run?.run_id ?? '')),
  }
}

const breaks = () => {
  throw new Error('not yet')
}

describe('steps are remembered by their key', () => {
  test('J8 J17 a resumed run gets what it knows and repeats only the step whose error ended it', async () => {
    const { run, resume } = play()
    const made: string[] = []
    const work = (last: () => unknown) => async (context: Context) => {
      const a = await context.step('a', () => made.push('a'))
      const b = await context.step('b', () => made.push('b'))
      return [a, b, await context.step('c', last)]
    }
    const failed = await run(work(breaks))
    expect(failed).toMatchObject({ status: 'failed', error: { message: 'not yet', step: 'c' } })
    const resumed = await resume(
      failed.run_id,
      work(() => 'there'),
    )
    expect(resumed).toMatchObject({ status: 'completed', output: [1, 2, 'there'] })
    expect(made).toEqual(['a', 'b'])
  })

  test('J17 an error that the code caught stays what it was', async () => {
    const { run, resume } = play()
    let tries = 0
    const work = (last: () => unknown) => async (context: Context) => {
      const caught = await context
        .step('flaky', () => (tries++ === 0 ? breaks() : 'fine'))
        .catch((e: Error) => e.message)
      return [caught, await context.step('c', last)]
    }
    const failed = await run(work(breaks))
    expect(
      await resume(
        failed.run_id,
        work(() => 1),
      ),
    ).toMatchObject({ output: ['not yet', 1] })
    expect(tries).toBe(1)
  })

  test('J8 keys nest under the pattern that asks, so the same key in two places is two steps', async () => {
    const store = new MemoryStore()
    const inner = patternFrom('inner', (context) => context.step('x', () => context.run_id.length))
    const outer = patternFrom('outer', async (context) => [
      await context.run('inner', {}, { key: 'one' }),
      await context.run('inner', {}, { key: 'two' }),
      await context.step('x', () => 'mine'),
    ])
    const { troupe } = await createTestTroupe({ store, model, patterns: [inner, outer] })
    const { run_id, output } = await troupe.run('outer', {})
    expect(output).toEqual([14, 14, 'mine'])
    expect(eventData(await troupe.events(run_id), 'step:end').map(({ key }) => key)).toEqual(['one/x', 'two/x', 'x'])
  })

  test('J9 a key asked for twice in one execution is an error that names it', async () => {
    const { run } = play()
    const failed = await run(async (context) => {
      await context.step('a', () => 1)
      return context.step('a', () => 2)
    })
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'duplicate_step', responsible: 'developer' } })
    expect(failed.error?.message).toContain("'a'")
  })

  test('J10 an error is recorded, and thrown again with the same code, message, hint and step', async () => {
    const { run, resume, events } = play()
    const seen: unknown[] = []
    const work = (last: () => unknown) => async (context: Context) => {
      await context.step('a', breaks).catch((error: TroupeError) => seen.push(error.toJSON()))
      return context.step('b', last)
    }
    const { run_id } = await run(work(breaks))
    await resume(
      run_id,
      work(() => 1),
    )
    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
    expect(eventData(await events(), 'step:error').filter(({ key }) => key === 'a')).toHaveLength(1)
  })

  test('J11 a result is what JSON can hold, the same live and on resume', async () => {
    const { run, resume } = play()
    const seen: unknown[] = []
    const work = (last: () => unknown) => async (context: Context) => {
      const odd = { at: new Date(0), none: undefined, not: Number.NaN, deep: [new Map([[1, 2]])] }
      seen.push(await context.step('a', () => odd), await context.step('b', () => undefined))
      return context.step('c', last)
    }
    const { run_id } = await run(work(breaks))
    await resume(
      run_id,
      work(() => 1),
    )
    const plain = { at: '1970-01-01T00:00:00.000Z', not: null, deep: [{}] }
    expect(seen).toEqual([plain, null, plain, null])
  })

  test('J11 a result that JSON cannot hold at all is an error of the step', async () => {
    const { run } = play()
    const circle: { self?: unknown } = {}
    circle.self = circle
    expect((await run((context) => context.step('a', () => circle))).error).toMatchObject({ step: 'a' })
    expect((await run((context) => context.step('a', () => 10n))).error).toMatchObject({ step: 'a' })
    expect((await run((context) => context.step('a', () => () => 1))).status).toBe('failed')
  })

  test('J20 a pattern that throws, or returns nonsense, fails its run with the reason', async () => {
    const nonsense = patternFrom('nonsense', async () => 1, { execute: (async () => undefined) as never })
    const sudden = patternFrom('sudden', async () => 1, {
      execute: (() => {
        throw new Error('before any promise')
      }) as never,
    })
    const endless = patternFrom('endless', async () => 10n)
    const { troupe } = await createTestTroupe({ model, patterns: [nonsense, sudden, endless] })
    expect(await troupe.run('endless', {})).toMatchObject({ status: 'failed', error: { code: 'internal' } })
    expect(await troupe.run('nonsense', {})).toMatchObject({ status: 'failed', error: { code: 'internal' } })
    expect(await troupe.run('sudden', {})).toMatchObject({ status: 'failed', error: { message: 'before any promise' } })
  })
})

describe('newer code on an older journal', () => {
  const asking = (input: string, last: () => unknown) => async (context: Context) => {
    const a = await context.step('a', () => input, { input })
    return [a, await context.step('b', last)]
  }

  test('J12 a step that now asks something else is reported, and the record is used', async () => {
    const { run, resume, events } = play()
    const { run_id } = await run(asking('old', breaks))
    expect(
      (
        await resume(
          run_id,
          asking('new', () => 1),
        )
      ).output,
    ).toEqual(['old', 1])
    expect(eventData(await events(), 'step:drift')).toMatchObject([{ key: 'a' }])
  })

  test('J12 strict mode fails instead', async () => {
    const { run, resume, events } = play()
    const { run_id } = await run(asking('old', breaks))
    const strict = { engine: { strict: true } }
    const failed = await resume(
      run_id,
      asking('new', () => 1),
      {},
      strict,
    )
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'step_drift' } })
    expect(eventData(await events(), 'step:drift')).toEqual([])
  })

  test('J12 equal input in another order of keys is no drift', async () => {
    const { run, resume, events } = play()
    const work = (input: object, last: () => unknown) => async (context: Context) => {
      await context.step('a', () => 1, { input })
      return context.step('b', last)
    }
    const { run_id } = await run(work({ x: 1, y: { a: 1, b: 2 } }, breaks))
    await resume(
      run_id,
      work({ y: { b: 2, a: 1 }, x: 1 }, () => 1),
    )
    expect(eventData(await events(), 'step:drift')).toEqual([])
  })

  test('J13 keys that a newer version calls differently are found under their new names', async () => {
    const { run, resume } = play()
    let paid = 0
    const work = (place: string, last: () => unknown) => async (context: Context) => {
      await context.step(`${place}/pay`, () => ++paid, { kind: 'act' })
      return [await context.step(`${place}/look`, () => ++paid), await context.step('c', last)]
    }
    const { run_id } = await run(work('old/shop', breaks))
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

  test('J14 a recorded action that no code asks for any more stops the run before any new action', async () => {
    const { run, resume } = play()
    const done: string[] = []
    const work = (action: string, last: () => unknown) => async (context: Context) => {
      await context.step(action, () => done.push(action), { kind: 'act' })
      return context.step('c', last)
    }
    const { run_id } = await run(work('pay', breaks))
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
        work('pay', () => 'went on'),
      ),
    ).toMatchObject({ output: 'went on' })
  })

  test('J14 an action that begun without an end is not repeated but reported as unknown', async () => {
    const held = pausableStore()
    const { run, resume } = play(held.store)
    const work = (act: () => unknown) => (context: Context) => context.step('pay', act, { kind: 'act' })
    const crashing = run(work(() => held.failWith(new Error('power cut'))))
    await expect(crashing).rejects.toMatchObject({ code: 'store_failed' })
    held.failWith(undefined)
    const [row] = await held.store.runs({ project: 'default' })
    let again = 0
    const resumed = await resume(
      row?.run_id ?? '',
      work(() => ++again),
    )
    expect(resumed).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown', step: 'pay' } })
    expect(again).toBe(0)
  })
})

describe('what steers the code between steps', () => {
  test('J15 the time, a random number, the spend and who was first are the same on resume', async () => {
    const { run, resume } = play()
    const seen: unknown[] = []
    const work = (slow: string, last: () => unknown) => async (context: Context) => {
      const branch = (name: string) => context.step(name, () => (name === slow ? flushEventLoop(3) : undefined))
      const winner = await context.first('winner', { a: branch('a'), b: branch('b') })
      seen.push([await context.now('now'), await context.random('random'), await context.readSpend('spent'), winner])
      return context.step('c', last)
    }
    const { run_id } = await run(work('a', breaks))
    await resume(
      run_id,
      work('b', () => 1),
    )
    expect(seen).toHaveLength(2)
    expect(seen[0]).toMatchObject({ 3: 'b' })
    expect(seen[1]).toEqual(seen[0])
  })

  test('J16 a fact of a program is emitted once, under its key, however often the run is resumed', async () => {
    const { run, resume, events } = play()
    const work = (last: () => unknown) => async (context: Context) => {
      context.emit('note', 'custom:note', { text: 'hello' })
      return context.step('c', last)
    }
    const { run_id } = await run(work(breaks))
    await resume(run_id, work(breaks))
    await resume(
      run_id,
      work(() => 1),
    )
    expect(eventData(await events(), 'custom:note')).toEqual([{ key: 'note', text: 'hello' }])
  })

  test('J18 work on many items keeps its order, its limit, and its failures apart', async () => {
    const { run } = play()
    let atWork = 0
    let most = 0
    const doors = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
    const running = run((context) =>
      context.parallel([0, 1, 2, 3, 4], 2, (item) =>
        context.step(`${item}`, async () => {
          most = Math.max(most, ++atWork)
          await doors[item]?.promise
          atWork -= 1
          if (item === 1) throw new Error('item 1 broke')
          return item * 10
        }),
      ),
    )
    for (const item of [1, 0, 3, 2, 4]) {
      await flushEventLoop(2)
      doors[item]?.resolve()
    }
    const { output, status } = await running
    expect(output).toMatchObject([
      { ok: true, value: 0 },
      { ok: false, error: { message: 'item 1 broke' } },
      { ok: true, value: 20 },
      { ok: true, value: 30 },
      { ok: true, value: 40 },
    ])
    expect([status, most]).toEqual(['completed', 2])
  })
})
