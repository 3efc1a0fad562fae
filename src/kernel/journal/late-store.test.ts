import { describe, expect, test } from 'vitest'
import { flushEventLoop } from '../../../test/support/manual-doubles.ts'
import { memoryStore } from '../../../test/support/memory-store.ts'
import { Committer } from '../../engine/group-commit.ts'
import { realWorld } from '../../engine/real-world.ts'
import { TroupeError } from '../../errors.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import type { SimulatedWorld } from '../../testing/simulated-world.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'
import { testClaimant, testRunStart } from '../../testing/store/store-harness.ts'
import type { Event } from '../event.ts'
import type { Append, AppendOutcome, JournalStore } from './journal.ts'

/* Adversarial tests of the committer with a store that answers late, out of order, with errors, or never. */

const full = new TroupeError('store_full', 'the disk is full')
const step = (key: string) => ({ key, v: 1, input_hash: null, result: null })

/** A store whose answers the test gives by hand, in any order. */
function manualStore() {
  const batches: { runs: string[]; answer(outcomes?: AppendOutcome[]): void; reject(thrown: unknown): void }[] = []
  const store: JournalStore = {
    append: (batch) =>
      new Promise((resolve, reject) => {
        const runs = batch.map(({ run_id, events }) => `${run_id}:${events.map(({ seq }) => seq).join(',')}`)
        batches.push({ runs, answer: (outcomes = batch.map(() => ({ ok: true }))) => resolve(outcomes), reject })
      }),
  }
  const committed: string[] = []
  const record = (events: readonly Event[]) => committed.push(...events.map(({ run_id, seq }) => `${run_id}:${seq}`))
  const committer = new Committer(store, realWorld(), record)
  const open = (run_id: string) => committer.open({ run_id, project: 'p', epoch: 1, head: 1 })
  return { batches, committed, open }
}

describe('a store that answers late', () => {
  test('J21 a slow commit of one run does not delay another run', async () => {
    const { batches, committed, open } = manualStore()
    const [slow, quick] = [open('slow'), open('quick')]
    slow.append('step:end', step('a'))
    const slowCommit = slow.commit()
    await flushEventLoop()
    quick.append('step:end', step('a'))
    const quickCommit = quick.commit('full')
    await flushEventLoop()
    batches[1]?.answer()
    await quickCommit
    expect(committed).toEqual(['quick:2'])
    batches[0]?.answer()
    await slowCommit
    expect(committed).toEqual(['quick:2', 'slow:2'])
  })

  test('J21 the next append of a run waits for the one in flight, even while other runs commit', async () => {
    const { batches, open } = manualStore()
    const [a, b] = [open('a'), open('b')]
    a.append('step:end', step('1'))
    await flushEventLoop()
    a.append('step:end', step('2'))
    const second = a.commit('full')
    b.append('step:end', step('1'))
    const other = b.commit()
    await flushEventLoop()
    expect(batches.map(({ runs }) => runs)).toEqual([['a:2'], ['b:2']])
    batches[1]?.answer()
    await other
    await flushEventLoop()
    expect(batches).toHaveLength(2)
    batches[0]?.answer()
    await flushEventLoop()
    batches[2]?.answer()
    await second
    expect(batches[2]?.runs).toEqual(['a:3'])
  })

  test('J21 a flush that fails or never settles affects only the runs in it', async () => {
    const { batches, open } = manualStore()
    const [stuck, failing, healthy] = [open('stuck'), open('failing'), open('healthy')]
    stuck.append('step:end', step('1'))
    void stuck.commit()
    await flushEventLoop()
    failing.append('step:end', step('1'))
    const failed = failing.commit()
    await flushEventLoop()
    failing.append('step:end', step('2'))
    batches[1]?.reject(full)
    await expect(failed).rejects.toBe(full)
    for (const turn of ['1', '2', '3']) {
      healthy.append('step:end', step(turn))
      const commit = healthy.commit()
      await flushEventLoop()
      batches.at(-1)?.answer()
      await commit
    }
    await expect(failing.commit()).rejects.toBe(full)
    expect(batches.map(({ runs }) => runs)).toEqual([
      ['stuck:2'],
      ['failing:2'],
      ['healthy:2'],
      ['healthy:3'],
      ['healthy:4'],
    ])
  })

  test('J21 beyond four batches in flight, runs share the next one', async () => {
    const { batches, open } = manualStore()
    const commits: Promise<void>[] = []
    for (let run = 1; run <= 9; run++) {
      const journal = open(`r${run}`)
      journal.append('step:end', step('1'))
      commits.push(journal.commit())
      await flushEventLoop()
    }
    expect(batches.map(({ runs }) => runs)).toEqual([['r1:2'], ['r2:2'], ['r3:2'], ['r4:2']])
    batches[2]?.answer()
    await flushEventLoop()
    expect(batches[4]?.runs).toEqual(['r5:2', 'r6:2', 'r7:2', 'r8:2', 'r9:2'])
    for (const { answer } of batches) answer()
    await Promise.all(commits)
  })
})

/** Answers every append after a random time, sometimes with an error for one run or for the whole batch. */
class LateStore implements JournalStore {
  readonly inner = memoryStore()
  mostInFlight = 0
  readonly #world: SimulatedWorld
  readonly #random: () => number
  #inFlight = 0

  constructor(world: SimulatedWorld, random: () => number) {
    this.#world = world
    this.#random = random
  }

  async append(batch: readonly Append[]): Promise<AppendOutcome[]> {
    const copy = structuredClone(batch)
    this.#inFlight += 1
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight)
    await this.#world.sleep(this.#random() * 40)
    this.#inFlight -= 1
    if (this.#random() < 0.02) throw full
    const outcomes: AppendOutcome[] = []
    for (const append of copy) {
      const refused = this.#random() < 0.02
      outcomes.push(refused ? { ok: false, error: full } : ((await this.inner.append([append]))[0] ?? { ok: true }))
    }
    await this.#world.sleep(this.#random() * 20)
    return outcomes
  }
}

test('J21 for any interleaving of late and failing answers, each run is stored as a prefix and heard in order', async () => {
  let overlapped = 0
  let poisoned = 0
  for (let seed = 1; seed <= 40; seed++) {
    const world = simulatedWorld(seed)
    const random = seededRandom(seed * 7919)
    const store = new LateStore(world, random)
    const heard = new Map<string, number[]>()
    const committer = new Committer(store, world, (events) => {
      for (const { run_id, seq } of events) heard.set(run_id, [...(heard.get(run_id) ?? []), seq])
    })
    const writers = ['a', 'b', 'c', 'd', 'e', 'f'].map(async (run_id) => {
      await store.inner.createRun(testRunStart(run_id))
      const journal = committer.open(await store.inner.lease(run_id, testClaimant('me')))
      let confirmed = 1
      try {
        for (let n = 0; n < 12; n++) {
          if (random() < 0.5) await world.sleep(random() * 80)
          journal.append('step:end', step(`${n}`))
          const { head } = journal
          if (random() < 0.3) await world.sleep(random() * 10)
          if (random() < 0.6) {
            await journal.commit(random() < 0.2 ? 'full' : 'normal')
            confirmed = head
          }
        }
        await journal.commit('full')
        confirmed = journal.head
      } catch (thrown) {
        expect(thrown).toBe(full)
        poisoned += 1
      }
      return { run_id, confirmed, journal }
    })
    for (const { run_id, confirmed, journal } of await world.runUntil(Promise.all(writers))) {
      const seqs = (await store.inner.events(run_id)).map(({ seq }) => seq)
      expect(seqs).toEqual(seqs.map((_, index) => index + 1))
      expect(seqs.length).toBeGreaterThanOrEqual(confirmed)
      const heardSeqs = heard.get(run_id) ?? []
      expect(heardSeqs).toEqual(heardSeqs.map((_, index) => index + 2))
      if (!journal.poisoned) expect([seqs.length, heardSeqs.length]).toEqual([13, 12])
    }
    if (store.mostInFlight > 1) overlapped += 1
    expect(store.mostInFlight).toBeLessThanOrEqual(4)
  }
  expect(overlapped).toBeGreaterThan(30)
  expect(poisoned).toBeGreaterThan(5)
})
