import assert from 'node:assert/strict'
import type { Store } from '../../store/store.ts'
import type { RunWriter, StoreHarness } from './store-harness.ts'
import {
  createLeasedRun,
  expectRejection,
  gateOpenData,
  runEndData,
  sessionEndData,
  sessionOpenData,
} from './store-harness.ts'

const SHARED_TEXT = 'a text that two runs have in common '.repeat(50)

function release({ store, run_id, project, epoch, head }: RunWriter): Promise<void> {
  return store.release({ run_id, project, epoch, head })
}

async function endRun(writer: RunWriter): Promise<void> {
  await writer.append('run:end', runEndData())
  await release(writer)
}

/** A run with a session, a gate and texts, ended. */
async function createEndedRun(store: Store, run_id: string, own = ''): Promise<void> {
  const session_id = run_id.replace('r', 's')
  const writer = await createLeasedRun(store, run_id)
  await writer.append('session:open', sessionOpenData(1), session_id)
  await writer.append('custom:note', { key: 'shared', text: SHARED_TEXT })
  await writer.append('custom:note', { key: 'own', text: `${run_id} ${own}`.padEnd(2000, '.') })
  await writer.append('gate:open', { ...gateOpenData(`g_${run_id}`), key: 'gate' })
  await store.enqueueCommand(run_id, { kind: 'answer', gate_id: `g_${run_id}`, answer: 'yes', by: 'ada' }, 1)
  await writer.append('session:end', sessionEndData('done'), session_id)
  await endRun(writer)
}

export async function deletesRuns(store: Store): Promise<void> {
  await createEndedRun(store, 'r1')
  await createEndedRun(store, 'r2')
  const kept = { run: await store.run('r1'), events: await store.events('r1'), session: await store.session('s1') }
  const newest = await store.newestCommand()
  await store.deleteRuns(['r2'])
  assert.equal(await store.run('r2'), undefined)
  await expectRejection(store.events('r2'), 'unknown_run')
  assert.equal(await store.session('s2'), undefined)
  assert.equal(await store.gate('g_r2'), undefined)
  assert.deepEqual(
    (await store.sessions({ project: 'default' })).map((row) => row.session_id),
    ['s1'],
  )
  assert.deepEqual(
    { run: await store.run('r1'), events: await store.events('r1'), session: await store.session('s1') },
    kept,
  )
  // A reader of commands that has seen the newest one must see the next.
  await createLeasedRun(store, 'r3')
  const { id } = await store.enqueueCommand('r3', { kind: 'cancel', reason: '', by: 'ada' }, 1)
  assert.ok(id > newest)
  assert.deepEqual(
    (await store.commandsSince(newest)).map(({ run_id }) => run_id),
    ['r3'],
  )
  await expectRejection(store.deleteRuns(['r9']), 'unknown_run')
}

export async function keepsBusyRuns(store: Store): Promise<void> {
  await createEndedRun(store, 'r1')
  const writer = await createLeasedRun(store, 'r2')
  await expectRejection(store.deleteRuns(['r1', 'r2']), 'run_busy')
  assert.ok(await store.run('r1'))
  await expectRejection(store.compact(), 'run_busy')
  await release(writer)
  await store.deleteRuns(['r1', 'r2'])
  assert.deepEqual(await store.runs({ project: 'default' }), [])
}

export async function keepsLinkedRuns(store: Store): Promise<void> {
  await createEndedRun(store, 'r1')
  const later = await createLeasedRun(store, 'r2')
  await later.append('session:open', sessionOpenData(2, { base: { run_id: 'r1', seq: 4 } }), 's1')
  await later.append('session:end', sessionEndData('more'), 's1')
  await endRun(later)
  const fork = await createLeasedRun(store, 'r3')
  await fork.append('session:open', sessionOpenData(1, { base: { run_id: 'r1', seq: 4, session_id: 's1' } }), 's3')
  await endRun(fork)
  await createEndedRun(store, 'r4')
  for (const run_id of ['r1', 'r2', 'r3']) await expectRejection(store.deleteRuns([run_id]), 'session_busy')
  const linked = await store.linkedRuns('default')
  assert.deepEqual(new Set(linked.flat()), new Set(['r1', 'r2', 'r3']))
  assert.deepEqual(await store.linkedRuns('other'), [])
  await store.deleteRuns(['r4'])
  await store.deleteRuns(['r1', 'r2', 'r3'])
  assert.deepEqual(await store.sessions({ project: 'default' }), [])
}

export async function keepsSharedValues(store: Store, harness: StoreHarness): Promise<void> {
  await createEndedRun(store, 'r1')
  await createEndedRun(store, 'r2', 'x'.repeat(400_000))
  const events = await store.events('r1')
  assert.ok((await store.sizeOfRuns(['r2'])) > 400_000)
  await store.deleteRuns(['r2'])
  await store.compact()
  assert.deepEqual(await store.events('r1'), events)
  // Another store that has read and written the shared values before writes them again.
  const other = (await harness.reopen?.()) ?? store
  await createEndedRun(other, 'r3')
  await store.deleteRuns(['r1', 'r3'])
  await store.compact()
  await createEndedRun(other, 'r4')
  const texts = (await store.events('r4')).flatMap(({ data }) => (data as { text?: unknown }).text ?? [])
  assert.equal(texts[0], SHARED_TEXT)
  assert.deepEqual(await store.checkIntegrity(), [])
  if (other !== store) await other.close()
}
