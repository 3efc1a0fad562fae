import { describe, expect, test } from 'vitest'
import { flushEventLoop, pausableStore } from '../../../test/support/manual-doubles.ts'
import { Committer } from '../../engine/group-commit.ts'
import { realWorld } from '../../engine/real-world.ts'
import { TroupeError } from '../../errors.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'
import type { Event } from '../event.ts'
import type { Append, AppendOutcome, JournalStore } from './journal.ts'

const OK: AppendOutcome = { ok: true }

/** A store that records its batches and settles each with `settle`. */
function recordingStore(
  settle: (batch: readonly Append[]) => AppendOutcome[] | Promise<AppendOutcome[]> = (b) => b.map(() => OK),
) {
  const batches: Append[][] = []
  const store: JournalStore = {
    append(batch) {
      batches.push([...batch])
      return settle(batch)
    },
  }
  const seqs = () => batches.flatMap((batch) => batch.flatMap(({ events }) => events.map(({ seq }) => seq)))
  return { store, batches, seqs }
}

function createCommitter(store: JournalStore) {
  const published: Event[] = []
  const committer = new Committer(store, realWorld(), (events) => published.push(...events))
  const open = (run_id: string, head = 1) => committer.open({ run_id, project: 'p', epoch: 1, head })
  return { committer, published, open }
}

const step = (key: string) => ({ key, v: 1, input_hash: null, result: null })

/** A store whose commits the test settles one by one. */
function manualStore() {
  const pending: { batch: readonly Append[]; settle: (outcomes?: AppendOutcome[]) => void }[] = []
  const recording = recordingStore(
    (batch) =>
      new Promise((resolve) => {
        pending.push({ batch, settle: (outcomes = batch.map(() => OK)) => resolve(outcomes) })
      }),
  )
  return { ...recording, pending }
}

describe('committing', () => {
  test('J1 events get seq without gaps and commit in append order', async () => {
    const { store, seqs } = recordingStore()
    const journal = createCommitter(store).open('r', 4)
    for (const key of ['a', 'b', 'c']) journal.append('step:end', step(key))
    await journal.commit()
    journal.append('step:end', step('d'))
    await journal.commit()
    expect(seqs()).toEqual([5, 6, 7, 8])
  })

  test('J1 events appended during a slow commit are in the next one', async () => {
    const { store, pending, seqs } = manualStore()
    const journal = createCommitter(store).open('r')
    journal.append('step:end', step('a'))
    const first = journal.commit()
    await flushEventLoop()
    journal.append('step:end', step('b'))
    const second = journal.commit()
    await flushEventLoop()
    expect(seqs()).toEqual([2])
    pending[0]?.settle()
    await first
    await flushEventLoop()
    pending[1]?.settle()
    await second
    expect(seqs()).toEqual([2, 3])
  })

  test('J2 commit resolves only when everything appended before is in the store', async () => {
    const { store, pending } = manualStore()
    const journal = createCommitter(store).open('r')
    journal.append('step:end', step('a'))
    await flushEventLoop()
    // This flush began before the call of commit().
    let done = false
    const wait = journal.commit().then(() => (done = true))
    await flushEventLoop()
    expect([pending.length, done]).toEqual([1, false])
    pending[0]?.settle()
    await wait
    expect(journal.hasUncommitted).toBe(false)
  })

  test('few effects commit at once; many share one commit per turn of the event loop', async () => {
    const { store, batches } = recordingStore()
    const { committer, open } = createCommitter(store)
    const journals = ['a', 'b', 'c'].map((run) => open(run))
    const write = () =>
      journals.map(async (journal) => {
        journal.append('step:end', step('x'))
        await journal.commit()
      })
    let isCommitted = false
    const few = Promise.all(write()).then(() => (isCommitted = true))
    for (let tick = 0; tick < 10; tick++) await Promise.resolve()
    expect([isCommitted, batches.map((batch) => batch.length)]).toEqual([true, [3]])
    await few
    committer.inFlight = 50
    const many = Promise.all(write())
    for (let tick = 0; tick < 10; tick++) await Promise.resolve()
    const late = Promise.all(write())
    expect(batches).toHaveLength(1)
    await Promise.all([many, late])
    expect(batches.slice(1).map((batch) => batch.map(({ events }) => events.length))).toEqual([[2, 2, 2]])
  })

  test('events without an awaited commit are committed at the end of the turn', async () => {
    const { store, seqs } = recordingStore()
    createCommitter(store).open('r').append('step:end', step('a'))
    expect(seqs()).toEqual([])
    await flushEventLoop(1)
    expect(seqs()).toEqual([2])
  })

  test('J4 a run whose events are rejected does not affect the other runs of the batch', async () => {
    const error = new TroupeError('lease_lost', 'taken over')
    const { store, batches } = recordingStore((batch) =>
      batch.map(({ run_id }) => (run_id === 'b' ? { ok: false, error } : OK)),
    )
    const { open, published } = createCommitter(store)
    const journals = ['a', 'b', 'c'].map((run) => open(run))
    for (const journal of journals) journal.append('step:end', step('x'))
    const outcomes = await Promise.allSettled(journals.map((journal) => journal.commit()))
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(batches).toHaveLength(1)
    expect(published.map(({ run_id }) => run_id)).toEqual(['a', 'c'])
  })

  test('J6 listeners get committed events only, in order', async () => {
    const { store, pending } = manualStore()
    const { open, published } = createCommitter(store)
    const journal = open('r')
    journal.append('step:end', step('a'))
    const wait = journal.commit()
    await flushEventLoop()
    expect(published).toEqual([])
    pending[0]?.settle()
    await wait
    journal.append('step:end', step('b'))
    journal.append('step:end', step('c'))
    const refused = expect(journal.commit()).rejects.toThrow('disk full')
    await flushEventLoop()
    pending[1]?.settle([{ ok: false, error: new TroupeError('store_full', 'disk full') }])
    await refused
    expect(published.map(({ seq }) => seq)).toEqual([2])
  })

  test('J7 a full sync covers everything pending and applies to one commit', async () => {
    const { store, batches } = recordingStore()
    const journal = createCommitter(store).open('r')
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

describe('a failed commit', () => {
  const full = new TroupeError('store_full', 'the disk is full')

  test('J5 after a failed commit every commit fails with the first error, and nothing more is written', async () => {
    const { store, pending, seqs } = manualStore()
    const journal = createCommitter(store).open('r')
    const poisoned: TroupeError[] = []
    journal.onPoisoned = (error) => poisoned.push(error)
    journal.append('step:end', step('a'))
    const first = journal.commit()
    await flushEventLoop()
    journal.append('step:end', step('b'))
    const during = journal.commit()
    pending[0]?.settle([{ ok: false, error: full }])
    await expect(first).rejects.toBe(full)
    await expect(during).rejects.toBe(full)
    journal.append('step:end', step('c'))
    await expect(journal.commit()).rejects.toBe(full)
    await expect(journal.commit('full')).rejects.toBe(full)
    await flushEventLoop()
    expect([seqs(), poisoned, journal.hasUncommitted]).toEqual([[2], [full], false])
  })

  test('J5 a store that throws or rejects fails the whole batch, and later journals continue', async () => {
    let healthy = false
    const throwing = recordingStore((batch) => {
      if (healthy) return batch.map(() => OK)
      throw new Error('no such table')
    })
    const { open } = createCommitter(throwing.store)
    const journal = open('r')
    journal.append('step:end', step('a'))
    await expect(journal.commit()).rejects.toMatchObject({ code: 'store_failed', message: 'no such table' })
    healthy = true
    const other = open('s')
    other.append('step:end', step('a'))
    await other.commit()

    const rejecting = createCommitter(recordingStore(() => Promise.reject(full)).store).open('r')
    rejecting.append('step:end', step('a'))
    await expect(rejecting.commit()).rejects.toBe(full)
  })

  test('J5 a failed commit that is not awaited causes no unhandled rejection, and the next commit fails', async () => {
    const journal = createCommitter(recordingStore(() => Promise.reject(full)).store).open('r')
    journal.append('step:end', step('a'))
    await flushEventLoop()
    await expect(journal.commit()).rejects.toBe(full)
  })
})

test('J1 for any interleaving of writers and commits, each run is stored completely and in order', async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const world = simulatedWorld(seed)
    const { store, appends, pause, resume } = pausableStore()
    const committer = new Committer(store, world, () => {})
    const written = ['a', 'b', 'c'].map(async (run_id) => {
      await store.createRun({ run_id, seq: 1, at: 0, type: 'run:start', data: runStart(run_id) })
      const lease = await store.lease(run_id, { owner: 'me', ttl_ms: 1e6 })
      const journal = committer.open(lease)
      for (let n = 0; n < 10; n++) {
        journal.append('step:end', step(`${n}`))
        if (world.random() < 0.5) await journal.commit()
        if (world.random() < 0.3) await world.sleep(world.random() * 5)
      }
      await journal.commit('full')
      return (await store.events(run_id)).map(({ seq }) => seq)
    })
    let ended = false
    const slowDown = async () => {
      while (!ended) {
        pause()
        await world.sleep(world.random() * 3)
        resume()
        await world.sleep(world.random() * 3)
      }
    }
    const stored = await world.runUntil(Promise.race([Promise.all(written), slowDown().then(() => [])]))
    ended = true
    for (const seqs of stored) expect(seqs).toEqual(Array.from({ length: 11 }, (_, index) => index + 1))
    expect(appends.every(({ events }) => events.every(({ seq }) => seq > 1))).toBe(true)
  }
})

function runStart(pattern: string) {
  const limits = { calls: 1, tokens: 1, usd: 1, wall_ms: 1, depth: 1, self_depth: 1, breadth: 1, concurrency: 1 }
  return {
    format: 2 as const,
    project: 'p',
    pattern,
    version: 1,
    input: {},
    limits: { ...limits, turns: 1, output: 1 },
  }
}
