import assert from 'node:assert/strict'
import { NO_USAGE } from '../../kernel/model.ts'
import type { Store } from '../../store/store.ts'
import { begin, rejects, runEnd, sessionEnd, sessionOpen } from './stage.ts'

export async function followsSegments(store: Store): Promise<void> {
  const one = await begin(store, 'r1')
  const opened = await one.write('session:open', sessionOpen(1, { cache_key: 'ck', depth: 2 }), 's1')
  assert.deepEqual(await store.session('s1'), {
    session_id: 's1',
    project: 'default',
    run_id: 'r1',
    parent_session_id: null,
    agent: 'ada',
    depth: 2,
    status: 'running',
    stop_reason: null,
    segment: 1,
    turn_count: 0,
    text: '',
    usage: { ...NO_USAGE, calls: 0 },
    holder: 'r1',
    cache_key: 'ck',
    opened_at: opened.at,
    ended_at: null,
  })
  assert.deepEqual(await store.segments('s1'), [{ run_id: 'r1', from: 2, to: null }])
  await one.write('custom:note', { key: 'n' }, 's1')
  const ended = await one.write('session:end', sessionEnd('half \ud800 and \u0000', 3), 's1')
  const row = await store.session('s1')
  assert.deepEqual([row?.status, row?.stop_reason, row?.turn_count], ['completed', 'completed', 3])
  assert.deepEqual(
    [row?.text, row?.usage.calls, row?.holder, row?.ended_at],
    ['half \ud800 and \u0000', 3, null, ended.at],
  )
  assert.deepEqual(await store.segments('s1'), [{ run_id: 'r1', from: 2, to: 4 }])

  const two = await begin(store, 'r2')
  await two.write('session:open', sessionOpen(2, { base: { run_id: 'r1', seq: 4 } }), 's1')
  const again = await store.session('s1')
  assert.deepEqual([again?.status, again?.run_id, again?.holder, again?.segment], ['running', 'r2', 'r2', 2])
  assert.deepEqual([again?.opened_at, again?.ended_at, again?.stop_reason], [opened.at, null, null])
  assert.deepEqual(await store.segments('s1'), [
    { run_id: 'r1', from: 2, to: 4 },
    { run_id: 'r2', from: 2, to: null },
  ])
  await two.write('session:end', sessionEnd('y'.repeat(10_000), 5), 's1')
  assert.deepEqual((await store.segments('s1')).at(-1), { run_id: 'r2', from: 2, to: 3 })
  assert.equal((await store.session('s1'))?.text, 'y'.repeat(10_000))
  assert.equal(await store.session('s0'), undefined)
}

export async function ignoresStrays(store: Store): Promise<void> {
  const writer = await begin(store, 'r1')
  await writer.write('session:end', sessionEnd('who?'), 'never opened')
  await writer.write('gate:answer', { key: 'g', gate_id: 'never asked', answer: 1, by: 'eve' })
  assert.equal(await store.session('never opened'), undefined)
  assert.equal(await store.gate('never asked'), undefined)
  assert.equal((await store.events('r1')).length, 3)
}

export async function listsSessions(store: Store): Promise<void> {
  const one = await begin(store, 'r1')
  const two = await begin(store, 'r2')
  const other = await begin(store, 'r3', 'other')
  await one.write('session:open', sessionOpen(1, { cache_key: 'k' }), 's1')
  await one.write('session:open', sessionOpen(1), 's2')
  await one.write('session:end', sessionEnd('done'), 's1')
  await two.write('session:open', sessionOpen(2, { cache_key: 'k' }), 's1')
  await two.write('session:open', sessionOpen(1, { cache_key: 'k' }), 's3')
  await other.write('session:open', sessionOpen(1, { cache_key: 'k' }), 's4')
  const ids = async (filter: Parameters<Store['sessions']>[0]) =>
    (await store.sessions(filter)).map(({ session_id }) => session_id)
  assert.deepEqual(await ids({ project: 'default' }), ['s3', 's2', 's1'])
  assert.deepEqual(await ids({ project: 'default', limit: 1 }), ['s3'])
  assert.deepEqual(await ids({ project: 'default', run_id: 'r1' }), ['s2', 's1'])
  assert.deepEqual(await ids({ project: 'default', run_id: 'r2' }), ['s3', 's1'])
  assert.deepEqual(await ids({ project: 'default', cache_key: 'k' }), ['s3', 's1'])
  assert.deepEqual(await ids({ project: 'default', cache_key: 'k', run_id: 'r1', limit: 5 }), ['s1'])
  assert.deepEqual(await ids({ project: 'default', run_id: 'r3' }), [])
  assert.deepEqual(await ids({ project: 'other' }), ['s4'])
}

export async function claimsSessions(store: Store): Promise<void> {
  const one = await begin(store, 'r1')
  const two = await begin(store, 'r2')
  const three = await begin(store, 'r3')
  await one.write('session:open', sessionOpen(1), 's1')
  assert.equal((await store.claimSession('s1', 'r1')).holder, 'r1')
  await rejects(store.claimSession('s1', 'r2'), 'session_busy', /in use by run r1/)
  await one.write('session:end', sessionEnd('done'), 's1')
  const claims = await Promise.allSettled([store.claimSession('s1', 'r2'), store.claimSession('s1', 'r3')])
  assert.deepEqual(claims.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const winner = claims[0]?.status === 'fulfilled' ? two : three
  const loser = winner === two ? three : two
  assert.equal((await store.session('s1'))?.holder, winner.run_id)
  await rejects(store.claimSession('s1', loser.run_id), 'session_busy')
  await rejects(store.claimSession('s0', 'r1'), 'unknown_session', /s1/)
  await rejects(store.claimSession('s1', 'r0'), 'unknown_run')
}

export async function freesSessions(store: Store): Promise<void> {
  const one = await begin(store, 'r1')
  await begin(store, 'r2')
  await one.write('session:open', sessionOpen(1), 's1')
  await one.write('session:open', sessionOpen(1), 's2')
  await one.write('run:end', runEnd('failed'))
  assert.equal((await store.session('s1'))?.holder, null)
  assert.equal((await store.claimSession('s1', 'r2')).holder, 'r2')
  const start = (await store.events('r1'))[0]
  assert.ok(start?.type === 'run:start')
  await one.write('run:reopen', { key: null, limits: start.data.limits })
  assert.equal((await store.session('s1'))?.holder, 'r2')
  assert.equal((await store.session('s2'))?.holder, 'r1')
  await rejects(store.claimSession('s2', 'r2'), 'session_busy')
}
