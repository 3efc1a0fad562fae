import assert from 'node:assert/strict'
import type { Event } from '../../kernel/event.ts'
import type { Store } from '../../store/store.ts'
import {
  createLeasedRun,
  expectAppendError,
  expectRejection,
  NOW,
  RunWriter,
  takeOverRun,
  testRunStart,
} from './store-harness.ts'

const noteEvent = (writer: RunWriter, n: number, session_id?: string) =>
  writer.nextEvent('custom:note', { key: `n${n}`, n }, session_id)

export async function appendsInOrder(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  const events = [noteEvent(writer, 1), noteEvent(writer, 2, 's1'), noteEvent(writer, 3)]
  assert.deepEqual(await writer.tryAppend(events), { ok: true })
  const more = noteEvent(writer, 4)
  assert.deepEqual(await writer.tryAppend([more], { sync: 'full' }), { ok: true })
  assert.deepEqual((await store.events('r1')).slice(1), [...events, more])
  assert.equal((await store.run('r1'))?.head, 5)
}

export async function acceptsEmptyAppend(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  assert.deepEqual(await writer.tryAppend([], { sync: 'full' }), { ok: true })
  assert.deepEqual(await writer.tryAppend([]), { ok: true })
  assert.deepEqual(await store.append([]), [])
  expectAppendError(await writer.tryAppend([], { sync: 'full', epoch: 9 }), 'lease_lost')
  await takeOverRun(store, 'r1', 'b')
  expectAppendError(await writer.tryAppend([], { sync: 'full' }), 'lease_lost')
  assert.equal((await store.run('r1'))?.head, 1)
}

export async function rejectsOldEpochs(store: Store): Promise<void> {
  const old = await createLeasedRun(store, 'r1')
  await old.append('custom:note', { key: 'a' })
  const current = await takeOverRun(store, 'r1', 'b')
  const late = noteEvent(old, 1)
  expectAppendError(await old.tryAppend([late]), 'lease_lost', /b works on it now.*epoch 2/)
  expectAppendError(await current.tryAppend([late], { epoch: 99 }), 'lease_lost')
  await current.append('custom:note', { key: 'b' })
  expectAppendError(await old.tryAppend([late]), 'lease_lost')
  assert.deepEqual(
    (await store.events('r1')).map(({ data }) => ('key' in data ? data.key : '')),
    ['', 'a', 'b'],
  )
}

export async function rejectsWithoutLease(store: Store): Promise<void> {
  await store.createRun(testRunStart('r1'))
  const unleased = new RunWriter(store, { run_id: 'r1', project: 'default', epoch: 0, head: 1 })
  expectAppendError(await unleased.tryAppend([noteEvent(unleased, 1)]), 'lease_lost')
  const unknown = new RunWriter(store, { run_id: 'r0', project: 'default', epoch: 1, head: 1 })
  expectAppendError(await unknown.tryAppend([noteEvent(unknown, 1)]), 'unknown_run')
}

export async function rejectsSequenceGaps(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  const [second, third, fourth] = [noteEvent(writer, 2), noteEvent(writer, 3), noteEvent(writer, 4)]
  expectAppendError(await writer.tryAppend([third]), 'lease_lost', /is at event 1/)
  expectAppendError(await writer.tryAppend([second, fourth]), 'invalid_input', /gap/)
  expectAppendError(await writer.tryAppend([second, second]), 'invalid_input')
  expectAppendError(await writer.tryAppend([{ ...second, run_id: 'r2' } as Event]), 'invalid_input')
  assert.equal((await store.run('r1'))?.head, 1)
  assert.equal((await store.events('r1')).length, 1)
  assert.deepEqual(await writer.tryAppend([second, third]), { ok: true })
  expectAppendError(await writer.tryAppend([third]), 'lease_lost')
  assert.deepEqual(await writer.tryAppend([fourth]), { ok: true })
}

export async function isolatesRejections(store: Store): Promise<void> {
  const writers = [
    await createLeasedRun(store, 'r1'),
    await createLeasedRun(store, 'r2'),
    await createLeasedRun(store, 'r3'),
  ] as const
  const [one, two, three] = writers
  await takeOverRun(store, 'r2', 'b')
  const unknown = new RunWriter(store, { run_id: 'r0', project: 'default', epoch: 1, head: 1 })
  const batch = [one, two, unknown, three].map((writer) =>
    writer.toAppend([noteEvent(writer, 1), noteEvent(writer, 2)]),
  )
  const outcomes = await store.append(batch)
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.error.code)),
    ['ok', 'lease_lost', 'unknown_run', 'ok'],
  )
  assert.deepEqual(await Promise.all(['r1', 'r2', 'r3'].map(async (id) => (await store.run(id))?.head)), [3, 1, 3])
}

export async function acceptsRunTwiceInBatch(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  const [a, b, c] = [noteEvent(writer, 1), noteEvent(writer, 2), noteEvent(writer, 3)]
  const outcomes = await store.append([
    writer.toAppend([a]),
    writer.toAppend([c]),
    writer.toAppend([b]),
    writer.toAppend([c]),
  ])
  assert.deepEqual(
    outcomes.map(({ ok }) => ok),
    [true, false, true, true],
  )
  assert.deepEqual((await store.events('r1')).slice(1), [a, b, c])
}

export async function parksConditionally(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  const first = await store.enqueueCommand('r1', { kind: 'cancel', reason: 'enough', by: 'eve' }, NOW)
  const park = writer.nextEvent('run:park', { gates: [] })
  const refusal = expectAppendError(
    await writer.tryAppend([park], { seen_command: 0 }),
    'run_busy',
    /a command arrived/,
  )
  assert.equal(refusal.hint, 'a command arrived')
  assert.equal((await store.run('r1'))?.status, 'pending')
  assert.deepEqual(await writer.tryAppend([park], { seen_command: first.id }), { ok: true })
  assert.equal((await store.run('r1'))?.status, 'waiting')
  await store.enqueueCommand('r1', { kind: 'cancel', reason: 'really', by: 'eve' }, NOW)
  expectAppendError(await writer.tryAppend([], { seen_command: first.id }), 'run_busy')
  const other = await createLeasedRun(store, 'r2')
  assert.deepEqual(await other.tryAppend([other.nextEvent('run:park', { gates: [] })], { seen_command: 0 }), {
    ok: true,
  })
}

export async function readsRanges(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  const events = Array.from({ length: 1200 }, (_, n) => noteEvent(writer, n, n % 2 === 0 ? 'even' : 'odd'))
  assert.deepEqual(await writer.tryAppend(events), { ok: true })
  const seqs = async (range: Parameters<Store['events']>[1]) => (await store.events('r1', range)).map(({ seq }) => seq)
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
  assert.deepEqual(await seqs({}), range(1, 1201))
  assert.deepEqual(await seqs({ after: 1199 }), [1200, 1201])
  assert.deepEqual(await seqs({ after: 3, to: 6 }), [4, 5, 6])
  assert.deepEqual(await seqs({ after: 3, limit: 2 }), [4, 5])
  assert.deepEqual(await seqs({ limit: 1101 }), range(1, 1101))
  assert.deepEqual(await seqs({ after: 1201 }), [])
  assert.deepEqual(await seqs({ limit: 0 }), [])
  assert.deepEqual(await seqs({ session_id: 'odd', after: 4, to: 9 }), [5, 7, 9])
  assert.deepEqual(await seqs({ session_id: 'even', limit: 3 }), [2, 4, 6])
  assert.equal((await seqs({ session_id: 'odd' })).length, 600)
  assert.deepEqual(await seqs({ session_id: 'nobody' }), [])
  await expectRejection(store.events('r0'), 'unknown_run', /r1/)
}

/** Several pages, owners and batches, with values that are stored apart. */
export async function verifiesWholeJournals(store: Store): Promise<void> {
  const first = await createLeasedRun(store, 'r1')
  const long = (n: number) => first.nextEvent('custom:note', { key: `n${n}`, text: `${n} long `.repeat(1000) }, 's1')
  await first.tryAppend(Array.from({ length: 600 }, (_, n) => (n % 50 === 0 ? long(n) : noteEvent(first, n))))
  const second = await takeOverRun(store, 'r1', 'b')
  await second.append('custom:note', { key: 'after the takeover' })
  await second.tryAppend([noteEvent(second, 1), noteEvent(second, 2, 's2')], { sync: 'full' })
  assert.deepEqual(await store.events('r1', { verify: true }), await store.events('r1'))
  assert.deepEqual(await store.checkIntegrity('r1'), [])
  await expectRejection(store.events('r0', { verify: true }), 'unknown_run')
}

/** Large values make a store answer late, so that the appends overlap. */
export async function acceptsConcurrentAppends(store: Store): Promise<void> {
  const writers = await Promise.all(Array.from({ length: 12 }, (_, n) => createLeasedRun(store, `r${n}`)))
  await takeOverRun(store, 'r5', 'another owner')
  const toNote = (writer: RunWriter, n: number) => {
    const text = (n % 3 === 0 ? 'x'.repeat(200_000) : 'y') + n
    return writer.nextEvent('custom:note', { key: `k${n}`, data: { text } })
  }
  const events = writers.map(toNote)
  const outcomes = await Promise.all(
    writers.map(async (writer, n) => (await store.append([writer.toAppend(events.slice(n, n + 1))]))[0]),
  )
  expectAppendError(outcomes[5], 'lease_lost')
  for (const [n, { run_id }] of writers.entries()) {
    assert.equal(outcomes[n]?.ok, n !== 5, run_id)
    assert.deepEqual((await store.events(run_id)).slice(1), n === 5 ? [] : [events[n]])
  }
}

export async function readsEventsOfRuns(store: Store): Promise<void> {
  const ids = Array.from({ length: 120 }, (_, n) => `r${n}`)
  for (const run_id of ids) {
    const writer = await createLeasedRun(store, run_id, run_id === 'r7' ? 'other' : 'default')
    await writer.append('custom:note', { key: 'k' }, 's1')
    await writer.append('run:attempt', { epoch: 1, owner: run_id })
    await writer.append('custom:note', { key: 'l', text: 'x'.repeat(600) })
  }
  const wanted = [...ids.toReversed(), 'nobody']
  const read = await store.eventsOfRuns(wanted, ['custom:note', 'run:start'])
  assert.deepEqual(
    read.map(({ run_id, seq }) => `${run_id} ${seq}`),
    ids.toReversed().flatMap((run_id) => [1, 2, 4].map((seq) => `${run_id} ${seq}`)),
  )
  assert.deepEqual(
    read.slice(0, 3),
    (await store.events('r119')).filter(({ type }) => type !== 'run:attempt'),
  )
  assert.deepEqual(await store.eventsOfRuns([], ['run:start']), [])
  assert.deepEqual(await store.eventsOfRuns(['r1'], []), [])
}
