import { describe, expect, test } from 'vitest'
import { flushEventLoop } from '../../test/support/manual-doubles.ts'
import type { Event } from '../kernel/event.ts'
import type { Delta } from '../kernel/ports.ts'
import { MemoryStore } from '../store/memory.ts'
import type { Store } from '../store/store.ts'
import type { Engine, StreamItem } from './engine.ts'
import { streamRun } from './run-stream.ts'

/** A stream over an engine and a store that the test drives by hand. */
function streamFixture() {
  const listeners = new Set<(item: StreamItem) => void>()
  const events: Event[] = []
  const reads: number[] = []
  const store: Store = new MemoryStore()
  store.events = async (_run, range = {}) => {
    reads.push(range.after ?? 0)
    return events.slice(range.after ?? 0)
  }
  const engine: Engine = {
    execute: async () => {},
    wake: () => {},
    active: [],
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    drain: async () => {},
  }
  const done = Promise.withResolvers<void>()
  const publish = (item: StreamItem) => {
    for (const listener of listeners) listener(item)
  }
  return {
    listeners,
    reads,
    done,
    stream: () => streamRun({ engine, store }, 'r', done.promise),
    commit(run_id = 'r') {
      const event = { run_id, seq: events.length + 1, at: 0, type: 'custom:x', data: { key: 'x' } } as Event
      if (run_id === 'r') events.push(event)
      publish({ event })
    },
    writeText(text: string) {
      const delta: Delta = { run_id: 'r', session_id: 's', key: 'k', attempt: 1, offset: 0, type: 'text', text }
      publish({ delta })
    },
  }
}

const textOrSeq = (item: StreamItem) => ('delta' in item ? item.delta.text : item.event.seq)

async function collect(items: AsyncIterable<StreamItem>): Promise<(string | number)[]> {
  const collected: (string | number)[] = []
  for await (const item of items) collected.push(textOrSeq(item))
  return collected
}

describe('streaming a run', () => {
  test('P3 a stream yields the committed events first, then all later ones, each once', async () => {
    const run = streamFixture()
    run.commit()
    run.commit()
    const items = collect(run.stream())
    await flushEventLoop()
    run.commit()
    run.commit('another run')
    run.writeText('a')
    run.commit()
    await flushEventLoop()
    run.done.resolve()
    expect(await items).toEqual([1, 2, 3, 'a', 4])
    expect(run.listeners.size).toBe(0)
  })

  test('P3 text deltas and events just before the end are yielded in order', async () => {
    const run = streamFixture()
    const items = collect(run.stream())
    await flushEventLoop()
    run.commit()
    run.writeText('last ')
    run.writeText('text')
    run.commit()
    run.done.resolve()
    expect(await items).toEqual([1, 'last ', 'text', 2])
  })

  test('P3 the stream of a run that failed ends with its last event', async () => {
    const run = streamFixture()
    const items = collect(run.stream())
    await flushEventLoop()
    run.commit()
    run.done.reject(new Error('lease lost'))
    expect(await items).toEqual([1])
  })

  test('P5 a reader that falls behind loses text deltas and reads the events from the store', async () => {
    const run = streamFixture()
    const stream = run.stream()
    run.commit()
    expect(textOrSeq((await stream.next()).value as StreamItem)).toBe(1)
    for (let n = 0; n < 10_000; n++) {
      run.writeText('w')
      run.commit()
    }
    run.done.resolve()
    const items = await collect(stream)
    const seqs = items.filter((item) => typeof item === 'number')
    expect(seqs).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 2))
    expect(items.length).toBeLessThan(20_000)
  })

  test('P4 a reader that leaves the loop is unsubscribed', async () => {
    const run = streamFixture()
    run.commit()
    for await (const item of run.stream()) {
      expect(textOrSeq(item)).toBe(1)
      break
    }
    expect(run.listeners.size).toBe(0)
  })
})
