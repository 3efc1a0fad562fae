import assert from 'node:assert/strict'
import type { Event } from '../../kernel/event.ts'
import { NO_USAGE } from '../../kernel/model.ts'
import { addSpend, NO_SPEND } from '../../kernel/spend.ts'
import type { ArtifactPage, Store } from '../../store/store.ts'
import type { StoreHarness } from './store-harness.ts'
import {
  createLeasedRun,
  expectRejection,
  gateOpenData,
  NOW,
  RunWriter,
  runEndData,
  testClaimant,
  testRunStart,
} from './store-harness.ts'

export async function createsRuns(store: Store): Promise<void> {
  const start = testRunStart('r1', { input: { instruction: 'Find\n  the bug' } })
  await store.createRun(start)
  assert.deepEqual(await store.run('r1'), {
    run_id: 'r1',
    project: 'default',
    pattern: 'task',
    title: 'Find the bug',
    tags: [],
    status: 'pending',
    stop_reason: null,
    created_at: NOW,
    ended_at: null,
    head: 1,
    epoch: 0,
    owner: null,
    lease_until: null,
    usage: NO_SPEND,
    open_gates: 0,
  })
  assert.deepEqual(await store.events('r1'), [start])
  assert.equal(await store.run('r2'), undefined)
}

export async function rejectsInvalidStarts(store: Store): Promise<void> {
  await store.createRun(testRunStart('r1'))
  await expectRejection(store.createRun(testRunStart('r1', { pattern: 'other' })), 'invalid_input', /r1 already exists/)
  await expectRejection(store.createRun({ ...testRunStart('r2'), seq: 2 } as Event), 'invalid_input')
  const park: Event = { run_id: 'r2', seq: 1, at: NOW, type: 'run:park', data: { gates: [] } }
  await expectRejection(store.createRun(park), 'invalid_input', /run:park/)
  await expectRejection(store.createRun(testRunStart('r2', { project: '\ud800' })), 'invalid_input', /lone surrogate/)
  assert.equal((await store.run('r1'))?.pattern, 'task')
  assert.equal(await store.run('r2'), undefined)
}

export async function titlesRuns(store: Store): Promise<void> {
  const long = '🦊'.repeat(100)
  await store.createRun(testRunStart('long', { input: { task: long } }))
  await store.createRun(testRunStart('torn', { input: { question: 'half \ud83e a fox\u0000' } }))
  await store.createRun(testRunStart('none', { input: ['a list'], pattern: 'collaborate' }))
  const title = (await store.run('long'))?.title ?? ''
  assert.ok(title.isWellFormed() && [...title].length <= 80 && title.startsWith('🦊🦊'), title)
  assert.equal((await store.run('torn'))?.title, 'half \ufffd a fox')
  assert.equal((await store.run('none'))?.title, 'collaborate')
}

export async function projectsStatus(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  const status = async () => (await store.run('r1'))?.status
  await writer.append('run:attempt', { epoch: 1, owner: 'me' })
  assert.equal(await status(), 'running')
  await writer.append('run:park', { gates: ['g1'] })
  assert.equal(await status(), 'waiting')
  await writer.append('run:attempt', { epoch: 1, owner: 'me' })
  await writer.append('run:interrupt', { reason: 'stop' })
  assert.equal(await status(), 'pending')
  const end = await writer.append('run:end', { ...runEndData('failed'), stop_reason: 'budget' })
  const ended = await store.run('r1')
  assert.deepEqual([ended?.status, ended?.stop_reason, ended?.ended_at, ended?.head], ['failed', 'budget', end.at, 6])
  await writer.append('run:reopen', { key: null, limits: { ...startLimits() } })
  const reopened = await store.run('r1')
  assert.deepEqual([reopened?.status, reopened?.stop_reason, reopened?.ended_at], ['pending', null, null])
}

function startLimits() {
  const start = testRunStart('x')
  if (start.type !== 'run:start') throw new Error('expected run:start')
  return start.data.limits
}

/** Floating-point sums depend on the order; the row must equal the fold of the journal exactly. */
export async function projectsSpend(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  const message = { role: 'assistant' as const, content: [] }
  for (const [turn, usd] of [0.1, 0.2, 0.3, 0.7, 1e-9].entries()) {
    const usage = { ...NO_USAGE, input: turn, output: 3, cache_read: 1 }
    await writer.append('model:end', { key: `k${turn}`, attempt: 1, message, stop: 'end', usage, usd })
  }
  await writer.append('model:lost', {
    key: 'l',
    attempt: 1,
    reserved: { calls: 1, tokens: 99, usd: 0.5 },
    reason: 'crash',
  })
  const folded = (await store.events('r1')).reduce(addSpend, NO_SPEND)
  assert.deepEqual((await store.run('r1'))?.usage, folded)
  assert.deepEqual([folded.calls, folded.input, folded.lost.tokens], [5, 10, 99])
  await writer.append('model:end', { key: 'k9', attempt: 1, message, stop: 'end', usage: NO_USAGE, usd: null })
  assert.equal((await store.run('r1'))?.usage.usd, null)
}

export async function listsRuns(store: Store): Promise<void> {
  const first = await createLeasedRun(store, 'r1')
  await createLeasedRun(store, 'r2')
  await createLeasedRun(store, 'r3')
  await createLeasedRun(store, 'elsewhere', 'other')
  await first.append('run:end', runEndData())
  const ids = async (filter: Parameters<Store['runs']>[0]) => (await store.runs(filter)).map(({ run_id }) => run_id)
  assert.deepEqual(await ids({ project: 'default' }), ['r3', 'r2', 'r1'])
  assert.deepEqual(await ids({ project: 'default', limit: 2 }), ['r3', 'r2'])
  assert.deepEqual(await ids({ project: 'default', before: 'r3', limit: 1 }), ['r2'])
  assert.deepEqual(await ids({ project: 'default', before: 'r1' }), [])
  assert.deepEqual(await ids({ project: 'default', before: 'none such' }), [])
  assert.deepEqual(await ids({ project: 'default', before: 'r3', status: ['completed'] }), ['r1'])
  assert.deepEqual(await ids({ project: 'default', status: ['pending', 'running'] }), ['r3', 'r2'])
  assert.deepEqual(await ids({ project: 'default', status: ['completed', 'waiting'] }), ['r1'])
  assert.deepEqual(await ids({ project: 'default', status: [] }), [])
  assert.deepEqual(await ids({ project: 'other' }), ['elsewhere'])
  assert.deepEqual(await ids({ project: 'default', pattern: 'task', limit: 1 }), ['r3'])
  assert.deepEqual(await ids({ project: 'default', pattern: 'none such' }), [])
  await store.createRun(testRunStart('r4', { tags: ['a', 'b'] }))
  await store.createRun(testRunStart('r5', { tags: ['a'] }))
  assert.deepEqual(await ids({ project: 'default', tags: ['a'] }), ['r5', 'r4'])
  assert.deepEqual(await ids({ project: 'default', tags: ['a'], limit: 1 }), ['r5'])
  assert.deepEqual(await ids({ project: 'default', tags: ['b', 'a'] }), ['r4'])
  assert.deepEqual(await ids({ project: 'default', tags: ['c'] }), [])
  assert.deepEqual(await ids({ project: 'other', tags: ['a'] }), [])
  assert.deepEqual((await store.run('r4'))?.tags, ['a', 'b'])
  assert.deepEqual((await store.run('r1'))?.tags, [])
}

export async function grantsExclusiveLeases(store: Store): Promise<void> {
  await store.createRun(testRunStart('r1'))
  const first = await store.lease('r1', testClaimant('a'))
  assert.deepEqual(first, { run_id: 'r1', project: 'default', epoch: 1, head: 1 })
  const row = await store.run('r1')
  assert.deepEqual([row?.owner, row?.epoch], ['a', 1])
  const busy = await expectRejection(
    store.lease('r1', testClaimant('b')),
    'run_busy',
    /a works on it until \d\d:\d\d:\d\d/,
  )
  assert.ok(busy.retry && busy.hint !== '')
  assert.equal((await store.lease('r1', testClaimant('a'))).epoch, 2)
  await expectRejection(store.lease('r0', testClaimant('a')), 'unknown_run', /r1/)
}

export async function createsLeasedRuns(store: Store): Promise<void> {
  const lease = await store.createRun(testRunStart('r1'), testClaimant('a'))
  assert.deepEqual(lease, { run_id: 'r1', project: 'default', epoch: 1, head: 1 })
  assert.deepEqual(await store.events('r1'), [testRunStart('r1')])
  await expectRejection(store.lease('r1', testClaimant('b')), 'run_busy')
  await new RunWriter(store, lease).append('run:attempt', { epoch: 1, owner: 'a' })
  await expectRejection(store.createRun(testRunStart('r1'), testClaimant('c')), 'invalid_input', /r1 already exists/)
  const row = await store.run('r1')
  assert.deepEqual([row?.owner, row?.epoch, row?.head, row?.status], ['a', 1, 2, 'running'])
}

export async function releasesWithAppend(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  const refused = await writer.tryAppend([{ ...writer.nextEvent('run:end', runEndData()), seq: 9 }], { release: true })
  assert.ok(!refused.ok)
  assert.equal((await store.run('r1'))?.owner, 'owner of r1')
  writer.head = 1
  const outcome = await writer.tryAppend([writer.nextEvent('run:end', runEndData())], { sync: 'full', release: true })
  assert.ok(outcome.ok)
  const row = await store.run('r1')
  assert.deepEqual([row?.owner, row?.lease_until, row?.status, row?.head], [null, null, 'completed', 2])
  assert.equal((await store.lease('r1', testClaimant('b'))).epoch, 2)
  // Also without events: the last ones may already be stored.
  const other = await createLeasedRun(store, 'r2')
  assert.ok((await other.tryAppend([], { sync: 'full', release: true })).ok)
  assert.equal((await store.run('r2'))?.owner, null)
}

export async function takesOverFromDeadOwners(store: Store): Promise<void> {
  await store.createRun(testRunStart('r1'))
  await store.lease('r1', testClaimant('a'))
  await expectRejection(store.lease('r1', testClaimant('b', { dead_owners: [] })), 'run_busy')
  await expectRejection(
    store.lease('r1', testClaimant('b', { dead_owners: ['z', 'A', ''] })),
    'run_busy',
    /^run r1.* a /,
  )
  assert.equal((await store.lease('r1', testClaimant('b', { dead_owners: ['z', 'a'] }))).epoch, 2)
  // The owner changed since the claimant looked: the list names another process, which is not the owner any more.
  await expectRejection(store.lease('r1', testClaimant('c', { dead_owners: ['a'] })), 'run_busy', /^run r1.* b /)
  assert.equal((await store.run('r1'))?.owner, 'b')
}

/** Claimants pass no time, so that a process whose clock is wrong can neither steal a lease nor keep one. */
export async function expiresLeases(store: Store, { passTime }: StoreHarness): Promise<void> {
  await store.createRun(testRunStart('r1'))
  const held = await store.lease('r1', testClaimant('a', { ttl_ms: 300 }))
  const until = (await store.run('r1'))?.lease_until ?? 0
  await passTime(200)
  await expectRejection(store.lease('r1', testClaimant('b')), 'run_busy')
  assert.deepEqual(await store.renew([held], 500), [])
  assert.ok(((await store.run('r1'))?.lease_until ?? 0) > until)
  await passTime(300)
  await expectRejection(store.lease('r1', testClaimant('b')), 'run_busy')
  await passTime(200)
  const expired = await store.run('r1')
  assert.deepEqual([expired?.owner, expired?.lease_until, expired?.epoch], [null, null, 1])
  assert.equal((await store.runs({ project: 'default' }))[0]?.owner, null)
  assert.deepEqual(await store.renew([held], 500), [], 'an expired lease that nobody took can be renewed')
  assert.equal((await store.run('r1'))?.owner, 'a')
  await passTime(500)
  assert.equal((await store.lease('r1', testClaimant('b'))).epoch, 2)
  assert.deepEqual(await store.renew([held], 500), ['r1'])
}

export async function renewsLeases(store: Store): Promise<void> {
  await store.createRun(testRunStart('r1'))
  await store.createRun(testRunStart('r2'))
  const old = await store.lease('r1', testClaimant('a'))
  const other = await store.lease('r2', testClaimant('a'))
  const current = await store.lease('r1', testClaimant('b', { dead_owners: ['a'] }))
  const unknown = { ...other, run_id: 'r0' }
  const until = (await store.run('r2'))?.lease_until ?? 0
  assert.deepEqual(await store.renew([old, other, unknown], 90_000), ['r1', 'r0'])
  assert.ok(((await store.run('r2'))?.lease_until ?? 0) >= until + 60_000)
  await store.release(old)
  assert.equal((await store.run('r1'))?.owner, 'b')
  await store.release(current)
  assert.equal((await store.run('r1'))?.owner, null)
  assert.deepEqual(await store.renew([current], 90_000), ['r1'])
  assert.equal((await store.lease('r1', testClaimant('c'))).epoch, 3)
}

export async function versionsArtifacts(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  const write = (name: string, version: number, content: string) => {
    const metadata = { media_type: 'text/plain', checksum: `c${version}`, size: content.length, by: 'ada' }
    return writer.append('artifact:write', { key: `artifacts/${name}/${version}`, name, version, content, ...metadata })
  }
  await write('plan', 1, 'one')
  await write('notes', 1, 'n')
  const third = await write('plan', 10, 'x'.repeat(9000))
  await write('plan', 2, 'two')
  assert.equal((await store.artifact('r1', 'plan'))?.content, 'x'.repeat(9000))
  assert.equal((await store.artifact('r1', 'plan', 1))?.content, 'one')
  assert.equal(await store.artifact('r1', 'plan', 3), undefined)
  assert.equal(await store.artifact('r1', 'nothing'), undefined)
  assert.equal(await store.artifact('r0', 'plan'), undefined)
  const listed = await store.artifacts('r1')
  assert.deepEqual(
    listed.map(({ name, version }) => `${name} ${version}`),
    ['plan 1', 'notes 1', 'plan 10', 'plan 2'],
  )
  assert.ok(listed.every((row) => !('content' in row)))
  assert.deepEqual([listed[2]?.at, listed[2]?.checksum, listed[2]?.project], [third.at, 'c10', 'default'])
  assert.deepEqual(await store.artifacts('r0'), [])
  const readPage = async (page: ArtifactPage) =>
    (await store.artifacts('r1', page)).map(({ name, version, size }) => `${name} ${version} ${size}`)
  assert.deepEqual(await readPage({ limit: 2 }), ['plan 1 3', 'notes 1 1'])
  assert.deepEqual(await readPage({ limit: 1, after: { name: 'notes', version: 1 } }), ['plan 10 9000'])
  assert.deepEqual(await readPage({ after: { name: 'plan', version: 10 } }), ['plan 2 3'])
  assert.deepEqual(await readPage({ after: { name: 'plan', version: 2 }, limit: 5 }), [])
}

export async function countsOpenGates(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('gate:open', gateOpenData('g1'))
  await writer.append('gate:open', gateOpenData('g2'))
  assert.equal((await store.run('r1'))?.open_gates, 2)
  await writer.append('gate:answer', { key: 'gates/g1', gate_id: 'g1', answer: 'yes', by: 'eve' })
  assert.equal((await store.run('r1'))?.open_gates, 1)
  await writer.append('run:end', runEndData('cancelled'))
  assert.equal((await store.run('r1'))?.open_gates, 0)
}

export async function updatesManyRuns(store: Store): Promise<void> {
  const ids = Array.from({ length: 200 }, (_, n) => `r${n}`)
  await store.createRun(testRunStart('r7'))
  const created = await Promise.allSettled(ids.map((run_id) => store.createRun(testRunStart(run_id))))
  assert.deepEqual(
    ids.filter((_, index) => created[index]?.status === 'rejected'),
    ['r7'],
  )
  await store.lease('r9', testClaimant('someone else'))
  const leases = await Promise.allSettled(
    ['r0', ...ids, 'nobody'].map((run_id) => store.lease(run_id, testClaimant('me'))),
  )
  const refused = leases.flatMap((lease) => (lease.status === 'rejected' ? [lease.reason.code] : []))
  assert.deepEqual(refused, ['run_busy', 'unknown_run'])
  const granted = leases.flatMap((lease) => (lease.status === 'fulfilled' ? [lease.value] : []))
  assert.deepEqual(
    granted.filter(({ run_id }) => run_id === 'r0').map(({ epoch }) => epoch),
    [1, 2],
  )
  await Promise.all(granted.map((lease) => store.release(lease)))
  const rows = await store.runs({ project: 'default' })
  assert.equal(rows.length, 200)
  assert.deepEqual(
    rows.filter(({ owner }) => owner !== null).map(({ run_id }) => run_id),
    ['r9'],
  )
}

export async function describesOwners(store: Store): Promise<void> {
  await store.createRun(testRunStart('r1'))
  await store.lease('r1', testClaimant('mill|4711|99|ab12'))
  const message = /another process \(pid 4711 on mill\) works on it until \d\d:\d\d:\d\d/
  await expectRejection(store.lease('r1', testClaimant('me')), 'run_busy', message)
}

export async function listsClaimableRuns(store: Store): Promise<void> {
  const [ended, waiting, answered] = await Promise.all(['r1', 'r2', 'r3'].map((id) => createLeasedRun(store, id)))
  await store.createRun(testRunStart('r4'))
  await createLeasedRun(store, 'elsewhere', 'other')
  assert.ok(ended && waiting && answered)
  await ended.append('run:end', runEndData())
  for (const run of [waiting, answered]) await run.append('run:park', { gates: [] })
  await store.enqueueCommand('r3', { kind: 'cancel', reason: '', by: 'eve' }, NOW)
  await createLeasedRun(store, 'r5')
  const ids = async (page: Omit<Parameters<Store['claimableRuns']>[0], 'project'>) =>
    (await store.claimableRuns({ project: 'default', ...page })).map(({ run_id }) => run_id)
  assert.deepEqual(await ids({ limit: 9 }), ['r3', 'r4', 'r5'])
  assert.deepEqual(await ids({ limit: 2 }), ['r3', 'r4'])
  assert.deepEqual(await ids({ limit: 2, after: 'r4' }), ['r5'])
  assert.deepEqual(await ids({ limit: 2, after: 'r1' }), ['r3', 'r4'])
  assert.deepEqual(await ids({ limit: 2, after: 'none such' }), [])
}
