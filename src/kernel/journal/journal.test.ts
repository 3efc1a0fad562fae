import { describe, expect, test } from 'vitest'
import { flushEventLoop, pausableStore } from '../../../test/support/manual-doubles.ts'
import { realWorld } from '../../engine/real-world.ts'
import { TroupeError } from '../../errors.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'
import type { Event } from '../event.ts'
import type { Append, AppendOutcome, JournalStore } from './journal.ts'
import { Committer } from './journal.ts'

const OK: AppendOutcome = { ok: true }

/** A store that keeps what it is given; each batch is answered by hand, or at once. */
function shelf(
  answer: (batch: readonly Append[]) => AppendOutcome[] | Promise<AppendOutcome[]> = (b) => b.map(() => OK),
) {
  const batches: Append[][] = []
  const store: JournalStore = {
    append(batch) {
      batches.push([...batch])
      return answer(batch)
    },
  }
  const seqs = () => batches.flatMap((batch) => batch.flatMap(({ events }) => events.map(({ seq }) => seq)))
  return { store, batches, seqs }
}

function committer(store: JournalStore) {
  const told: Event[] = []
  const made = new Committer(store, realWorld(), (events) => told.push(...events))
  const open = (run_id: string, head = 1) => made.open({ run_id, project: 'p', epoch: 1, head })
  return { made, told, open }
}

const step = (key: string) => ({ key, v: 1, input_hash: null, result: null })

/** A store whose commits are answered one after the other by hand. */
function byHand() {
  const waiting: { batch: readonly Append[]; answer: (outcomes?: AppendOutcome[]) => void }[] = []
  const shelved = shelf(
    (batch) =>
      new Promise((resolve) => {
        waiting.push({ batch, answer: (outcomes = batch.map(() => OK)) => resolve(outcomes) })
      }),
  )
  return { ...shelved, waiting }
}

describe('committing', () => {
  test('J1 events are numbered without holes and commit in the order they were appended', async () => {
    const { store, seqs } = shelf()
    const journal = committer(store).open('r', 4)
    for (const key of ['a', 'b', 'c']) journal.append('step:end', step(key))
    await journal.commit()
    journal.append('step:end', step('d'))
    await journal.commit()
    expect(seqs()).toEqual([5, 6, 7, 8])
  })

  test('J1 what is appended during a slow commit follows in the next one', async () => {
    const { store, waiting, seqs } = byHand()
    const journal = committer(store).open('r')
    journal.append('step:end', step('a'))
    const first = journal.commit()
    await flushEventLoop()
    journal.append('step:end', step('b'))
    const second = journal.commit()
    await flushEventLoop()
    expect(seqs()).toEqual([2])
    waiting[0]?.answer()
    await first
    await flushEventLoop()
    waiting[1]?.answer()
    await second
    expect(seqs()).toEqual([2, 3])
  })

  test('J2 a wait ends only when all that was appended before it is in the store', async () => {
    const { store, waiting } = byHand()
    const journal = committer(store).open('r')
    journal.append('step:end', step('a'))
    await flushEventLoop()
    // Nobody waited when this flush began.
    let done = false
    const wait = journal.commit().then(() => (done = true))
    await flushEventLoop()
    expect([waiting.length, done]).toEqual([1, false])
    waiting[0]?.answer()
    await wait
    expect(journal.hasUncommitted).toBe(false)
  })

  test('J3 few effects commit at once; many share one commit per turn of the event loop', async () => {
    const { store, batches } = shelf()
    const { made, open } = committer(store)
    const journals = ['a', 'b', 'c'].map((run) => open(run))
    const write = () =>
      journals.map(async (journal) => {
        journal.append('step:end', step('x'))
        await journal.commit()
      })
    let atOnce = false
    const few = Promise.all(write()).then(() => (atOnce = true))
    for (let tick = 0; tick < 10; tick++) await Promise.resolve()
    expect([atOnce, batches.map((batch) => batch.length)]).toEqual([true, [3]])
    await few
    made.inFlight = 50
    const many = Promise.all(write())
    for (let tick = 0; tick < 10; tick++) await Promise.resolve()
    const late = Promise.all(write())
    expect(batches).toHaveLength(1)
    await Promise.all([many, late])
    expect(batches.slice(1).map((batch) => batch.map(({ events }) => events.length))).toEqual([[2, 2, 2]])
  })

  test('J3 what nobody waits for is committed all the same, at the end of the turn', async () => {
    const { store, seqs } = shelf()
    committer(store).open('r').append('step:end', step('a'))
    expect(seqs()).toEqual([])
    await flushEventLoop(1)
    expect(seqs()).toEqual([2])
  })

  test('J4 a refused run does not fail its neighbours in the batch', async () => {
    const error = new TroupeError('lease_lost', 'taken over')
    const { store, batches } = shelf((batch) => batch.map(({ run_id }) => (run_id === 'b' ? { ok: false, error } : OK)))
    const { open, told } = committer(store)
    const journals = ['a', 'b', 'c'].map((run) => open(run))
    for (const journal of journals) journal.append('step:end', step('x'))
    const outcomes = await Promise.allSettled(journals.map((journal) => journal.commit()))
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(batches).toHaveLength(1)
    expect(told.map(({ run_id }) => run_id)).toEqual(['a', 'c'])
  })

  test('J6 listeners are told of committed events only, in order, and of refused ones never', async () => {
    const { store, waiting } = byHand()
    const { open, told } = committer(store)
    const journal = open('r')
    journal.append('step:end', step('a'))
    const wait = journal.commit()
    await flushEventLoop()
    expect(told).toEqual([])
    waiting[0]?.answer()
    await wait
    journal.append('step:end', step('b'))
    journal.append('step:end', step('c'))
    const refused = expect(journal.commit()).rejects.toThrow('disk full')
    await flushEventLoop()
    waiting[1]?.answer([{ ok: false, error: new TroupeError('store_full', 'disk full') }])
    await refused
    expect(told.map(({ seq }) => seq)).toEqual([2])
  })

  test('J7 a full sync is asked for once and for all that is pending', async () => {
    const { store, batches } = shelf()
    const journal = committer(store).open('r')
    journal.append('step:end', step('a'))
    await Promise.all([journal.commit('full'), journal.commit()])
    journal.append('step:end', step('b'))
    await journal.commit()
    await journal.commit('full')
    expect(batches.map(([append]) => [append?.sync, append?.events.length])).toEqual([
      ['full', 1],
      ['normal', 1],
      ['full', 0],
    ])
  })
})

describe('a flush that fails', () => {
  const full = new TroupeError('store_full', 'the disk is full')

  test('J5 it poisons its journal for good: every wait fails with the first error, and nothing more is written', async () => {
    const { store, waiting, seqs } = byHand()
    const journal = committer(store).open('r')
    const poisoned: TroupeError[] = []
    journal.onPoisoned = (error) => poisoned.push(error)
    journal.append('step:end', step('a'))
    const first = journal.commit()
    await flushEventLoop()
    journal.append('step:end', step('b'))
    const during = journal.commit()
    waiting[0]?.answer([{ ok: false, error: full }])
    await expect(first).rejects.toBe(full)
    await expect(during).rejects.toBe(full)
    journal.append('step:end', step('c'))
    await expect(journal.commit()).rejects.toBe(full)
    await expect(journal.commit('full')).rejects.toBe(full)
    await flushEventLoop()
    expect([seqs(), poisoned, journal.hasUncommitted]).toEqual([[2], [full], false])
  })

  test('J5 a store that throws or rejects fails the whole batch, and later journals go on', async () => {
    let calm = false
    const throwing = shelf((batch) => {
      if (calm) return batch.map(() => OK)
      throw new Error('no such table')
    })
    const { open } = committer(throwing.store)
    const journal = open('r')
    journal.append('step:end', step('a'))
    await expect(journal.commit()).rejects.toMatchObject({ code: 'store_failed', message: 'no such table' })
    calm = true
    const other = open('s')
    other.append('step:end', step('a'))
    await other.commit()

    const rejecting = committer(shelf(() => Promise.reject(full)).store).open('r')
    rejecting.append('step:end', step('a'))
    await expect(rejecting.commit()).rejects.toBe(full)
  })

  test('J5 a failure that nobody waits for is no unhandled rejection, and is told to the next who waits', async () => {
    const journal = committer(shelf(() => Promise.reject(full)).store).open('r')
    journal.append('step:end', step('a'))
    await flushEventLoop()
    await expect(journal.commit()).rejects.toBe(full)
  })
})

test('J1 whatever the interleaving of writers and commits, each run is stored whole and in order', async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const world = simulatedWorld(seed)
    const { store, appends, pause, resume } = pausableStore()
    const made = new Committer(store, world, () => {})
    const written = ['a', 'b', 'c'].map(async (run_id) => {
      await store.createRun({ run_id, seq: 1, at: 0, type: 'run:start', data: start(run_id) })
      const lease = await store.lease(run_id, { owner: 'me', now: 0, ttl_ms: 1e6, isDead: () => false })
      const journal = made.open(lease)
      for (let n = 0; n < 10; n++) {
        journal.append('step:end', step(`${n}`))
        if (world.random() < 0.5) await journal.commit()
        if (world.random() < 0.3) await world.sleep(world.random() * 5)
      }
      await journal.commit('full')
      return (await store.events(run_id)).map(({ seq }) => seq)
    })
    let over = false
    const slow = async () => {
      while (!over) {
        pause()
        await world.sleep(world.random() * 3)
        resume()
        await world.sleep(world.random() * 3)
      }
    }
    const stored = await world.runUntil(Promise.race([Promise.all(written), slow().then(() => [])]))
    over = true
    for (const seqs of stored) expect(seqs).toEqual(Array.from({ length: 11 }, (_, index) => index + 1))
    expect(appends.every(({ events }) => events.every(({ seq }) => seq > 1))).toBe(true)
  }
})

function start(pattern: string) {
  const limits = { calls: 1, tokens: 1, usd: 1, wall_ms: 1, depth: 1, self_depth: 1, breadth: 1, concurrency: 1 }
  return {
    format: 1 as const,
    project: 'p',
    pattern,
    version: 1,
    input: {},
    limits: { ...limits, turns: 1, output: 1 },
  }
}
