import { describe, expect, test } from 'vitest'
import { flushEventLoop } from '../../test/support/manual-doubles.ts'
import type { Event } from '../kernel/event.ts'
import type { Delta } from '../kernel/ports.ts'
import { MemoryStore } from '../store/memory.ts'
import type { Store } from '../store/store.ts'
import type { Engine, StreamItem } from './engine.ts'
import { streamRun } from './run-stream.ts'

/** An engine whose signals a test gives, over a store that holds what was committed. */
function watched() {
  const listeners = new Set<(signal: StreamItem) => void>()
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
  const tell = (signal: StreamItem) => {
    for (const listener of listeners) listener(signal)
  }
  return {
    listeners,
    reads,
    done,
    stream: () => streamRun({ engine, store }, 'r', done.promise),
    commit(run_id = 'r') {
      const event = { run_id, seq: events.length + 1, at: 0, type: 'custom:x', data: { key: 'x' } } as Event
      if (run_id === 'r') events.push(event)
      tell({ event })
    },
    say(text: string) {
      const delta: Delta = { run_id: 'r', session_id: 's', key: 'k', attempt: 1, offset: 0, type: 'text', text }
      tell({ delta })
    },
  }
}

const shown = (signal: StreamItem) => ('delta' in signal ? signal.delta.text : signal.event.seq)

async function all(signals: AsyncIterable<StreamItem>): Promise<(string | number)[]> {
  const told: (string | number)[] = []
  for await (const signal of signals) told.push(shown(signal))
  return told
}

describe('following a run', () => {
  test('P3 what was committed before comes first, then all that follows, each event once', async () => {
    const run = watched()
    run.commit()
    run.commit()
    const telling = all(run.stream())
    await flushEventLoop()
    run.commit()
    run.commit('another run')
    run.say('a')
    run.commit()
    await flushEventLoop()
    run.done.resolve()
    expect(await telling).toEqual([1, 2, 3, 'a', 4])
    expect(run.listeners.size).toBe(0)
  })

  test('P3 words and events that came just before the end are told, in order', async () => {
    const run = watched()
    const telling = all(run.stream())
    await flushEventLoop()
    run.commit()
    run.say('last ')
    run.say('words')
    run.commit()
    run.done.resolve()
    expect(await telling).toEqual([1, 'last ', 'words', 2])
  })

  test('P3 a run whose work failed is told to its last event', async () => {
    const run = watched()
    const telling = all(run.stream())
    await flushEventLoop()
    run.commit()
    run.done.reject(new Error('lease lost'))
    expect(await telling).toEqual([1])
  })

  test('P5 a reader that falls behind loses words, and reads the events again from the store', async () => {
    const run = watched()
    const stream = run.stream()
    run.commit()
    expect(shown((await stream.next()).value as StreamItem)).toBe(1)
    for (let n = 0; n < 10_000; n++) {
      run.say('w')
      run.commit()
    }
    run.done.resolve()
    const told = await all(stream)
    const seqs = told.filter((each) => typeof each === 'number')
    expect(seqs).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 2))
    expect(told.length).toBeLessThan(20_000)
  })

  test('P4 a reader that leaves is no longer told', async () => {
    const run = watched()
    run.commit()
    for await (const signal of run.stream()) {
      expect(shown(signal)).toBe(1)
      break
    }
    expect(run.listeners.size).toBe(0)
  })
})
