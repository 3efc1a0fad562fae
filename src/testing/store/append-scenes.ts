import assert from 'node:assert/strict'
import type { Event } from '../../kernel/event.ts'
import type { Store } from '../../store/store.ts'
import { takeOver } from './run-scenes.ts'
import { begin, NOW, refused, rejects, startEvent, Writer } from './stage.ts'

const note = (writer: Writer, n: number, session_id?: string) =>
  writer.event('custom:note', { key: `n${n}`, n }, session_id)

export async function appends(store: Store): Promise<void> {
  const writer = await begin(store, 'r1')
  const events = [note(writer, 1), note(writer, 2, 's1'), note(writer, 3)]
  assert.deepEqual(await writer.try(events), { ok: true })
  const more = note(writer, 4)
  assert.deepEqual(await writer.try([more], { sync: 'full' }), { ok: true })
  assert.deepEqual((await store.events('r1')).slice(1), [...events, more])
  assert.equal((await store.run('r1'))?.head, 5)
}

export async function appendsNothing(store: Store): Promise<void> {
  const writer = await begin(store, 'r1')
  assert.deepEqual(await writer.try([], { sync: 'full' }), { ok: true })
  assert.deepEqual(await writer.try([]), { ok: true })
  assert.deepEqual(await store.append([]), [])
  refused(await writer.try([], { sync: 'full', epoch: 9 }), 'lease_lost')
  await takeOver(store, 'r1', 'b')
  refused(await writer.try([], { sync: 'full' }), 'lease_lost')
  assert.equal((await store.run('r1'))?.head, 1)
}

export async function refusesOldEpochs(store: Store): Promise<void> {
  const old = await begin(store, 'r1')
  await old.write('custom:note', { key: 'a' })
  const taken = await takeOver(store, 'r1', 'b')
  const late = note(old, 1)
  refused(await old.try([late]), 'lease_lost', /b works on it now.*epoch 2/)
  refused(await taken.try([late], { epoch: 99 }), 'lease_lost')
  await taken.write('custom:note', { key: 'b' })
  refused(await old.try([late]), 'lease_lost')
  assert.deepEqual(
    (await store.events('r1')).map(({ data }) => ('key' in data ? data.key : '')),
    ['', 'a', 'b'],
  )
}

export async function refusesUnleased(store: Store): Promise<void> {
  await store.createRun(startEvent('r1'))
  const nobody = new Writer(store, { run_id: 'r1', project: 'default', epoch: 0, head: 1 })
  refused(await nobody.try([note(nobody, 1)]), 'lease_lost')
  const nowhere = new Writer(store, { run_id: 'r0', project: 'default', epoch: 1, head: 1 })
  refused(await nowhere.try([note(nowhere, 1)]), 'unknown_run')
}

export async function refusesHoles(store: Store): Promise<void> {
  const writer = await begin(store, 'r1')
  const [second, third, fourth] = [note(writer, 2), note(writer, 3), note(writer, 4)]
  refused(await writer.try([third]), 'lease_lost', /stands at event 1/)
  refused(await writer.try([second, fourth]), 'invalid_input', /hole/)
  refused(await writer.try([second, second]), 'invalid_input')
  refused(await writer.try([{ ...second, run_id: 'r2' } as Event]), 'invalid_input')
  assert.equal((await store.run('r1'))?.head, 1)
  assert.equal((await store.events('r1')).length, 1)
  assert.deepEqual(await writer.try([second, third]), { ok: true })
  refused(await writer.try([third]), 'lease_lost')
  assert.deepEqual(await writer.try([fourth]), { ok: true })
}

export async function isolatesRefusals(store: Store): Promise<void> {
  const writers = [await begin(store, 'r1'), await begin(store, 'r2'), await begin(store, 'r3')] as const
  const [one, two, three] = writers
  await takeOver(store, 'r2', 'b')
  const nobody = new Writer(store, { run_id: 'r0', project: 'default', epoch: 1, head: 1 })
  const batch = [one, two, nobody, three].map((writer) => writer.batch([note(writer, 1), note(writer, 2)]))
  const outcomes = await store.append(batch)
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.error.code)),
    ['ok', 'lease_lost', 'unknown_run', 'ok'],
  )
  assert.deepEqual(await Promise.all(['r1', 'r2', 'r3'].map(async (id) => (await store.run(id))?.head)), [3, 1, 3])
}

export async function takesOneRunTwice(store: Store): Promise<void> {
  const writer = await begin(store, 'r1')
  const [a, b, c] = [note(writer, 1), note(writer, 2), note(writer, 3)]
  const outcomes = await store.append([writer.batch([a]), writer.batch([c]), writer.batch([b]), writer.batch([c])])
  assert.deepEqual(
    outcomes.map(({ ok }) => ok),
    [true, false, true, true],
  )
  assert.deepEqual((await store.events('r1')).slice(1), [a, b, c])
}

export async function parks(store: Store): Promise<void> {
  const writer = await begin(store, 'r1')
  const first = await store.command('r1', { kind: 'cancel', reason: 'enough', by: 'eve' }, NOW)
  const park = writer.event('run:park', { gates: [] })
  const refusal = refused(await writer.try([park], { seen_command: 0 }), 'run_busy', /a command arrived/)
  assert.equal(refusal.hint, 'a command arrived')
  assert.equal((await store.run('r1'))?.status, 'pending')
  assert.deepEqual(await writer.try([park], { seen_command: first.id }), { ok: true })
  assert.equal((await store.run('r1'))?.status, 'waiting')
  await store.command('r1', { kind: 'cancel', reason: 'really', by: 'eve' }, NOW)
  refused(await writer.try([], { seen_command: first.id }), 'run_busy')
  const other = await begin(store, 'r2')
  assert.deepEqual(await other.try([other.event('run:park', { gates: [] })], { seen_command: 0 }), { ok: true })
}

export async function readsRanges(store: Store): Promise<void> {
  const writer = await begin(store, 'r1')
  const events = Array.from({ length: 1200 }, (_, n) => note(writer, n, n % 2 === 0 ? 'even' : 'odd'))
  assert.deepEqual(await writer.try(events), { ok: true })
  const seqs = async (range: Parameters<Store['events']>[1]) => (await store.events('r1', range)).map(({ seq }) => seq)
  const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
  assert.deepEqual(await seqs({}), upTo(1, 1201))
  assert.deepEqual(await seqs({ after: 1199 }), [1200, 1201])
  assert.deepEqual(await seqs({ after: 3, to: 6 }), [4, 5, 6])
  assert.deepEqual(await seqs({ after: 3, limit: 2 }), [4, 5])
  assert.deepEqual(await seqs({ limit: 1101 }), upTo(1, 1101))
  assert.deepEqual(await seqs({ after: 1201 }), [])
  assert.deepEqual(await seqs({ limit: 0 }), [])
  assert.deepEqual(await seqs({ session_id: 'odd', after: 4, to: 9 }), [5, 7, 9])
  assert.deepEqual(await seqs({ session_id: 'even', limit: 3 }), [2, 4, 6])
  assert.equal((await seqs({ session_id: 'odd' })).length, 600)
  assert.deepEqual(await seqs({ session_id: 'nobody' }), [])
  await rejects(store.events('r0'), 'unknown_run', /r1/)
}
