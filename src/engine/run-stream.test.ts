import { describe, expect, test } from 'vitest'
import { flushEventLoop } from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import type { Event } from '../kernel/event.ts'
import type { Delta } from '../kernel/ports.ts'
import type { Store } from '../store/store.ts'
import { createLeasedRun, runEndData } from '../testing/store/store-harness.ts'
import type { Engine, EngineItem } from './engine.ts'
import type { WatchOptions } from './run-stream.ts'
import { streamRun, watchEvents } from './run-stream.ts'
import { RunTails } from './run-tail.ts'

/** Streams and watchers over a store and an engine that the test drives by hand. */
async function watchFixture() {
  const store = memoryStore()
  const run = await createLeasedRun(store, 'r')
  const other = await createLeasedRun(store, 'other')
  /** The notifications that watchers get; muted, they are those of another process. */
  const reads: number[] = []
  let muted = false
  const shown = Object.create(store) as Store
  const listeners = new Set<() => void>()
  Object.defineProperty(shown, 'changes', {
    value: {
      subscribe(listener: Parameters<Store['changes']['subscribe']>[0]) {
        const external = () => listener({ kind: 'external' })
        listeners.add(external)
        const unsubscribe = store.changes.subscribe((change) => {
          if (!muted) listener(change)
        })
        return () => {
          listeners.delete(external)
          unsubscribe()
        }
      },
    },
  })
  shown.events = async (run_id, range) => {
    reads.push(range?.after ?? 0)
    return store.events(run_id, range)
  }
  const deltaListeners = new Set<(item: EngineItem) => void>()
  const engine: Engine = {
    start: async () => ({ done: Promise.resolve(undefined) }),
    execute: async () => undefined,
    submit: async () => {},
    claim: async () => undefined,
    active: [],
    subscribe(listener) {
      deltaListeners.add(listener)
      return () => void deltaListeners.delete(listener)
    },
    drain: async () => {},
  }
  const tails = new RunTails(shown)
  const done = Promise.withResolvers<void>()
  const gate = { open: Promise.resolve() }
  const readHead = async () => {
    const row = await store.run('r')
    await gate.open
    return row?.head ?? 0
  }
  return {
    reads,
    done,
    tails,
    /** Holds up the answers of the store to reads of the head. */
    gate,
    /** Subscriptions to the engine and to the store. */
    subscriptions: () => [deltaListeners.size, listeners.size],
    stream: () => streamRun({ engine, tails, readHead }, 'r', done.promise),
    async watch(options: WatchOptions = {}) {
      const row = await store.run('r')
      if (!row) throw new Error('no run')
      return watchEvents(tails, row, options)
    },
    commit: () => run.append('custom:x', { key: 'x' } as never),
    commitElsewhere: () => other.append('custom:x', { key: 'x' } as never),
    end: () => run.append('run:end', runEndData()),
    createAgain: () => createLeasedRun(store, 'r'),
    async delete() {
      await store.release(run)
      await store.deleteRuns(['r'])
    },
    /** Commits as another process does: watchers are not told what has changed. */
    async commitInOtherProcess(type: 'custom:x' | 'run:end' = 'custom:x', count = 1) {
      muted = true
      for (let n = 0; n < count; n++) {
        if (type === 'run:end') await run.append('run:end', runEndData())
        else await run.append('custom:x', { key: 'x' } as never)
      }
      muted = false
      for (const external of listeners) external()
    },
    writeText(text: string) {
      const delta: Delta = {
        run_id: 'r',
        session_id: 's',
        agent: 'a',
        key: 'k',
        attempt: 1,
        offset: 0,
        type: 'text',
        text,
      }
      for (const listener of deltaListeners) listener({ delta })
    },
  }
}

const textOrSeq = (item: EngineItem) => ('delta' in item ? item.delta.text : item.event.seq)

async function collect(items: AsyncIterable<EngineItem>): Promise<(string | number)[]> {
  const collected: (string | number)[] = []
  for await (const item of items) collected.push(textOrSeq(item))
  return collected
}

async function collectSeqs(events: AsyncIterable<Event>): Promise<number[]> {
  const seqs: number[] = []
  for await (const { seq } of events) seqs.push(seq)
  return seqs
}

const seqsUpTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, index) => index + first)

describe('streaming a run', () => {
  test('P3 a stream yields the committed events first, then all later ones, each once', async () => {
    const run = await watchFixture()
    await run.commit()
    const items = collect(run.stream())
    await flushEventLoop()
    await run.commit()
    await run.commitElsewhere()
    run.writeText('a')
    await run.commit()
    await flushEventLoop()
    run.done.resolve()
    expect(await items).toEqual([1, 2, 3, 'a', 4])
    expect(run.subscriptions()).toEqual([0, 0])
  })

  test('P3 text deltas and events just before the end are yielded in order', async () => {
    const run = await watchFixture()
    const items = collect(run.stream())
    await flushEventLoop()
    await run.commit()
    run.writeText('last ')
    run.writeText('text')
    await run.commit()
    run.done.resolve()
    expect(await items).toEqual([1, 2, 'last ', 'text', 3])
  })

  test('P3 text is yielded after the events committed before it, even if the store answers late', async () => {
    const run = await watchFixture()
    const watcher = collectSeqs(await run.watch())
    await flushEventLoop()
    const late = Promise.withResolvers<void>()
    run.gate.open = late.promise
    const stream = run.stream()
    const first = stream.next()
    await flushEventLoop()
    await run.commit()
    late.resolve()
    expect(textOrSeq((await first).value as EngineItem)).toBe(1)
    run.writeText('a')
    run.done.resolve()
    expect(await collect(stream)).toEqual([2, 'a'])
    await run.tails.close()
    expect(await watcher).toEqual([1, 2])
  })

  test('P3 the stream of a run that failed ends with its last event', async () => {
    const run = await watchFixture()
    const items = collect(run.stream())
    await flushEventLoop()
    await run.commit()
    run.done.reject(new Error('lease lost'))
    expect(await items).toEqual([1, 2])
  })

  test('P49 what a reader does to a text delta changes nothing for other readers', async () => {
    const run = await watchFixture()
    const [careless, other] = [run.stream(), collect(run.stream())]
    expect(textOrSeq((await careless.next()).value as EngineItem)).toBe(1)
    await flushEventLoop()
    run.writeText('a')
    const { value } = await careless.next()
    Object.assign((value as { delta: Delta }).delta, { text: 'changed' })
    run.done.resolve()
    expect(await other).toEqual([1, 'a'])
    await careless.return()
  })

  test('P5 a reader that falls behind loses text deltas and reads the events from the store', async () => {
    const run = await watchFixture()
    const stream = run.stream()
    expect(textOrSeq((await stream.next()).value as EngineItem)).toBe(1)
    for (let n = 0; n < 10_000; n++) {
      run.writeText('w')
      await run.commit()
    }
    run.done.resolve()
    const items = await collect(stream)
    expect(items.filter((item) => typeof item === 'number')).toEqual(seqsUpTo(10_001, 2))
    expect(items.length).toBeLessThan(20_000)
  })

  test('P5 events and text of this process cost no read of the store', async () => {
    const run = await watchFixture()
    const items = collect(run.stream())
    await flushEventLoop()
    const before = run.reads.length
    for (let n = 0; n < 100; n++) {
      run.writeText('w')
      await run.commit()
      await flushEventLoop()
    }
    expect(run.reads.length).toBe(before)
    run.done.resolve()
    expect((await items).length).toBe(201)
  })

  test('P48 the stream of a run that was deleted while its work still lasts rejects', async () => {
    const run = await watchFixture()
    const items = collect(run.stream())
    await flushEventLoop()
    await run.delete()
    await expect(items).rejects.toMatchObject({ code: 'unknown_run' })
    expect(run.subscriptions()).toEqual([0, 0])
  })

  test('P4 a reader that leaves the loop is unsubscribed', async () => {
    const run = await watchFixture()
    for await (const item of run.stream()) {
      expect(textOrSeq(item)).toBe(1)
      break
    }
    expect(run.subscriptions()).toEqual([0, 0])
  })
})

describe('watching a run', () => {
  test('P13 a watcher gets every event of a run in another process, once and in order, until the run has ended', async () => {
    const run = await watchFixture()
    const seqs = collectSeqs(await run.watch())
    await flushEventLoop()
    await run.commitInOtherProcess()
    await run.commit()
    await run.commitInOtherProcess('custom:x', 600)
    await flushEventLoop()
    await run.commitInOtherProcess('run:end')
    expect(await seqs).toEqual(seqsUpTo(604))
    expect(run.subscriptions()).toEqual([0, 0])
  })

  test('P13 a watcher with `after` gets the later events; at the end of an ended run it gets none', async () => {
    const run = await watchFixture()
    for (let n = 0; n < 300; n++) await run.commit()
    await run.end()
    expect(await collectSeqs(await run.watch({ after: 298 }))).toEqual([299, 300, 301, 302])
    expect(await collectSeqs(await run.watch({ after: 302 }))).toEqual([])
    expect(await collectSeqs(await run.watch({ after: 5000 }))).toEqual([])
  })

  test('P13 a watcher with `after` beyond the end delays neither events nor text of others', async () => {
    const run = await watchFixture()
    const items = run.stream()
    expect(textOrSeq((await items.next()).value as EngineItem)).toBe(1)
    const beyond = collectSeqs(await run.watch({ after: 5000 }))
    await flushEventLoop()
    const before = run.reads.length
    for (let n = 0; n < 3; n++) {
      run.writeText(`text ${n}`)
      expect(textOrSeq((await items.next()).value as EngineItem)).toBe(`text ${n}`)
      await run.commit()
      expect(textOrSeq((await items.next()).value as EngineItem)).toBe(n + 2)
    }
    expect(run.reads.length).toBe(before)
    run.done.resolve()
    await run.tails.close()
    expect(await beyond).toEqual([])
    expect((await items.next()).done).toBe(true)
  })

  test('P14 aborting the signal, or closing, ends the iteration without an error', async () => {
    const run = await watchFixture()
    const leaving = new AbortController()
    const aborted = collectSeqs(await run.watch({ signal: leaving.signal }))
    const staying = collectSeqs(await run.watch())
    await flushEventLoop()
    leaving.abort()
    expect(await aborted).toEqual([1])
    expect(await collectSeqs(await run.watch({ signal: leaving.signal }))).toEqual([])
    await run.tails.close()
    expect(await staying).toEqual([1])
    expect(run.subscriptions()).toEqual([0, 0])
  })

  test('P15 watchers at the same position share one read', async () => {
    const run = await watchFixture()
    const watchers = await Promise.all(Array.from({ length: 500 }, () => run.watch()))
    const seqs = watchers.map(collectSeqs)
    await flushEventLoop()
    const before = run.reads.length
    await run.commitInOtherProcess('custom:x', 3)
    await flushEventLoop()
    expect(run.reads.length).toBe(before + 1)
    await run.commitInOtherProcess('run:end')
    for (const seq of await Promise.all(seqs)) expect(seq).toEqual([1, 2, 3, 4, 5])
    expect(run.reads.length).toBeLessThan(before + 5)
  })

  test('P48 a watcher of a deleted run gets nothing of a new run with its id', async () => {
    const run = await watchFixture()
    const watcher = await run.watch()
    expect((await watcher.next()).value?.seq).toBe(1)
    const waiting = watcher.next()
    await run.delete()
    await run.createAgain()
    await expect(waiting).rejects.toMatchObject({ code: 'unknown_run' })
    const again = await run.watch()
    expect((await again.next()).value?.seq).toBe(1)
    await again.return()
  })

  test('P15 watchers at more positions than the buffer has pages get every event', async () => {
    const run = await watchFixture()
    for (let n = 0; n < 5999; n++) await run.commit()
    await run.end()
    const starts = Array.from({ length: 23 }, (_, index) => index * 256)
    const watchers = await Promise.all(starts.map((after) => run.watch({ after })))
    const seqs = await Promise.all(watchers.map(collectSeqs))
    for (const [index, after] of starts.entries()) expect(seqs[index]).toEqual(seqsUpTo(6001, after + 1))
  })

  test('P15 a slow watcher reads the store at its own pace and gets every event', async () => {
    const run = await watchFixture()
    const slow = await run.watch()
    expect((await slow.next()).value?.seq).toBe(1)
    const fast = collectSeqs(await run.watch())
    for (let n = 0; n < 5000; n++) await run.commit()
    await run.end()
    expect(await fast).toEqual(seqsUpTo(5002))
    expect(await collectSeqs(slow)).toEqual(seqsUpTo(5002, 2))
  })
})
