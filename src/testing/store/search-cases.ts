import assert from 'node:assert/strict'
import type { Lease, RunFilter, Store } from '../../store/store.ts'
import {
  createLeasedRun,
  expectRejection,
  RunWriter,
  runEndData,
  sessionEndData,
  sessionOpenData,
  testClaimant,
  testRunStart,
} from './store-harness.ts'

/** Which of the runs of a project a search finds. */
function searchRuns(store: Store) {
  return async (text: string, filter: Partial<RunFilter> = {}) =>
    (await store.runs({ project: 'default', text, ...filter })).map(({ run_id }) => run_id)
}

export async function findsRunsByWords(store: Store): Promise<void> {
  const find = searchRuns(store)
  await store.createRun(testRunStart('r_one', { input: { instruction: 'Fix the Login page' }, tags: ['portal:42'] }))
  const lease = await store.lease('r_one', testClaimant('me'))
  await store.createRun(testRunStart('r_two', { input: { task: 'Compare 100%_sure BÜCHER' }, pattern: 'collaborate' }))
  await store.createRun(testRunStart('r_three', { input: { task: '検索を直す' }, project: 'other' }))
  assert.deepEqual(await find('login'), ['r_one'])
  assert.deepEqual(await find('  PAGE   fix '), ['r_one'])
  assert.deepEqual(await find('log'), ['r_one'], 'words are found by their beginning')
  assert.deepEqual(await find('ogin'), [])
  assert.deepEqual(await find('login bücher'), [], 'a run has all of the words')
  assert.deepEqual(await find('bücher 100'), ['r_two'])
  for (const text of ['%', '_', "'", '"', '100%_x', '\\', '*']) assert.deepEqual(await find(text), [], text)
  assert.deepEqual(await find(''), ['r_two', 'r_one'])
  assert.deepEqual(await find('r_'), ['r_two', 'r_one'])
  assert.deepEqual(await find('r_two'), ['r_two'])
  assert.deepEqual(await find('portal:42'), ['r_one'])
  assert.deepEqual(await find('collaborate'), ['r_two'])
  assert.deepEqual(await find('検索', { project: 'other' }), ['r_three'])
  assert.deepEqual(await find('直検', { project: 'other' }), ['r_three'])
  await findsSessionWords(store, lease)
  await expectRejection(store.runs({ project: 'default', text: 'a b c d e f g h i' }), 'invalid_input', /9 words/)
}

async function findsSessionWords(store: Store, lease: Lease): Promise<void> {
  const writer = new RunWriter(store, lease)
  const find = searchRuns(store)
  await writer.append(
    'session:open',
    sessionOpenData(1, { agent: { name: 'Scout', description: '', instructions: '' } }),
    's1',
  )
  assert.deepEqual(await find('scout'), ['r_one'])
  await writer.append('session:end', sessionEndData(`The cookie expired. ${'x '.repeat(2000)}`), 's1')
  assert.deepEqual(await find('cookie scout login'), ['r_one'])
  assert.deepEqual(await find('cookie', { status: ['completed'] }), [])
  assert.deepEqual(await find('cookie', { status: ['pending'], tags: ['portal:42'] }), ['r_one'])
  assert.deepEqual(await find('cookie', { tags: ['other'] }), [])
  assert.deepEqual(await find('r', { limit: 1 }), ['r_two'])
  assert.deepEqual(await find('r', { before: 'r_two' }), ['r_one'])
  await writer.append('run:end', runEndData('completed'))
  await store.release(lease)
  await store.deleteRuns(['r_one'])
  assert.deepEqual(await find('cookie'), [])
}

export async function countsRuns(store: Store): Promise<void> {
  const none = { pending: 0, running: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0 }
  assert.deepEqual(await store.countRuns('default'), none)
  const writer = await createLeasedRun(store, 'r1')
  await store.createRun(testRunStart('r2'))
  await store.createRun(testRunStart('r3', { project: 'other' }))
  await writer.append('run:attempt', { epoch: 1, owner: 'me' })
  assert.deepEqual(await store.countRuns('default'), { ...none, pending: 1, running: 1 })
  await writer.append('run:end', runEndData('failed'))
  assert.deepEqual(await store.countRuns('default'), { ...none, pending: 1, failed: 1 })
}
