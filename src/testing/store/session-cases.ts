import assert from 'node:assert/strict'
import { NO_USAGE } from '../../kernel/model.ts'
import type { Store } from '../../store/store.ts'
import type { RunWriter } from './store-harness.ts'
import { createLeasedRun, expectRejection, runEndData, sessionEndData, sessionOpenData } from './store-harness.ts'

export async function tracksSegments(store: Store): Promise<void> {
  const one = await createLeasedRun(store, 'r1')
  const opened = await one.append('session:open', sessionOpenData(1, { cache_key: 'ck', depth: 2 }), 's1')
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
  await one.append('custom:note', { key: 'n' }, 's1')
  const ended = await one.append('session:end', sessionEndData('half \ud800 and \u0000', 3), 's1')
  const row = await store.session('s1')
  assert.deepEqual([row?.status, row?.stop_reason, row?.turn_count], ['completed', 'completed', 3])
  assert.deepEqual(
    [row?.text, row?.usage.calls, row?.holder, row?.ended_at],
    ['half \ud800 and \u0000', 3, null, ended.at],
  )
  assert.deepEqual(await store.segments('s1'), [{ run_id: 'r1', from: 2, to: 4 }])

  const two = await createLeasedRun(store, 'r2')
  await two.append('session:open', sessionOpenData(2, { base: { run_id: 'r1', seq: 4 } }), 's1')
  const reopened = await store.session('s1')
  assert.deepEqual(
    [reopened?.status, reopened?.run_id, reopened?.holder, reopened?.segment],
    ['running', 'r2', 'r2', 2],
  )
  assert.deepEqual([reopened?.opened_at, reopened?.ended_at, reopened?.stop_reason], [opened.at, null, null])
  assert.deepEqual(await store.segments('s1'), [
    { run_id: 'r1', from: 2, to: 4 },
    { run_id: 'r2', from: 2, to: null },
  ])
  await two.append('session:end', sessionEndData('y'.repeat(10_000), 5), 's1')
  assert.deepEqual((await store.segments('s1')).at(-1), { run_id: 'r2', from: 2, to: 3 })
  assert.equal((await store.session('s1'))?.text, 'y'.repeat(10_000))
  assert.equal(await store.session('s0'), undefined)
}

export async function ignoresUnknownSessions(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('session:end', sessionEndData('who?'), 'never opened')
  await writer.append('gate:answer', { key: 'g', gate_id: 'never asked', answer: 1, by: 'eve' })
  assert.equal(await store.session('never opened'), undefined)
  assert.equal(await store.gate('never asked'), undefined)
  assert.equal((await store.events('r1')).length, 3)
}

export async function listsSessions(store: Store): Promise<void> {
  const one = await createLeasedRun(store, 'r1')
  const two = await createLeasedRun(store, 'r2')
  const other = await createLeasedRun(store, 'r3', 'other')
  await one.append('session:open', sessionOpenData(1, { cache_key: 'k' }), 's1')
  await one.append('session:open', sessionOpenData(1), 's2')
  await one.append('session:end', sessionEndData('done'), 's1')
  await two.append('session:open', sessionOpenData(2, { cache_key: 'k' }), 's1')
  await two.append('session:open', sessionOpenData(1, { cache_key: 'k' }), 's3')
  await other.append('session:open', sessionOpenData(1, { cache_key: 'k' }), 's4')
  const ids = async (filter: Parameters<Store['sessions']>[0]) =>
    (await store.sessions(filter)).map(({ session_id }) => session_id)
  assert.deepEqual(await ids({ project: 'default' }), ['s3', 's2', 's1'])
  assert.deepEqual(await ids({ project: 'default', limit: 1 }), ['s3'])
  assert.deepEqual(await ids({ project: 'default', before: 's3' }), ['s2', 's1'])
  assert.deepEqual(await ids({ project: 'default', run_id: 'r2', before: 's3' }), ['s1'])
  assert.deepEqual(await ids({ project: 'default', before: 'none such' }), [])
  assert.deepEqual(await ids({ project: 'default', run_id: 'r1' }), ['s2', 's1'])
  assert.deepEqual(await ids({ project: 'default', run_id: 'r2' }), ['s3', 's1'])
  assert.deepEqual(await ids({ project: 'default', cache_key: 'k' }), ['s3', 's1'])
  assert.deepEqual(await ids({ project: 'default', cache_key: 'k', run_id: 'r1', limit: 5 }), ['s1'])
  assert.deepEqual(await ids({ project: 'default', run_id: 'r3' }), [])
  assert.deepEqual(await ids({ project: 'other' }), ['s4'])
}

export async function claimsSessions(store: Store): Promise<void> {
  const one = await createLeasedRun(store, 'r1')
  const two = await createLeasedRun(store, 'r2')
  const three = await createLeasedRun(store, 'r3')
  await one.append('session:open', sessionOpenData(1), 's1')
  assert.deepEqual(await store.claimSession('s1', { run_id: 'r1' }), { run_id: 'r1', from: 2, to: null })
  assert.equal((await store.session('s1'))?.holder, 'r1')
  await expectRejection(store.claimSession('s1', { run_id: 'r2' }), 'session_busy', /in use by run r1/)
  await one.append('session:end', sessionEndData('done'), 's1')
  const claims = await Promise.allSettled(['r2', 'r3'].map((run_id) => store.claimSession('s1', { run_id })))
  assert.deepEqual(claims.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const winner = claims[0]?.status === 'fulfilled' ? two : three
  const loser = winner === two ? three : two
  assert.equal((await store.session('s1'))?.holder, winner.run_id)
  await expectRejection(store.claimSession('s1', { run_id: loser.run_id }), 'session_busy')
  await expectRejection(store.claimSession('s0', { run_id: 'r1' }), 'unknown_session', /s1/)
  await expectRejection(store.claimSession('s1', { run_id: 'r0' }), 'unknown_run')
}

/** A claim is checked before it changes anything. */
export async function checksSessionClaims(store: Store): Promise<void> {
  const one = await createLeasedRun(store, 'r1')
  const other = await createLeasedRun(store, 'r2', 'other')
  await one.append('session:open', sessionOpenData(1), 's1')
  await one.append('session:end', sessionEndData('done'), 's1')
  await other.append('session:open', sessionOpenData(1), 's2')
  await expectRejection(store.claimSession('s1', { run_id: 'r2' }), 'unknown_session', /s2/)
  await expectRejection(store.claimSession('s1', { run_id: 'r1', agent: 'bob' }), 'invalid_input', /agent 'ada'/)
  assert.equal((await store.session('s1'))?.holder, null)
  const claim = { run_id: 'r1', agent: 'ada' }
  assert.deepEqual(await store.claimSession('s1', claim), { run_id: 'r1', from: 2, to: 3 })
  assert.equal((await store.session('s1'))?.holder, 'r1')
}

export async function releasesSessions(store: Store): Promise<void> {
  const one = await createLeasedRun(store, 'r1')
  await createLeasedRun(store, 'r2')
  await one.append('session:open', sessionOpenData(1), 's1')
  await one.append('session:open', sessionOpenData(1), 's2')
  await one.append('run:end', runEndData('failed'))
  assert.equal((await store.session('s1'))?.holder, null)
  await store.claimSession('s1', { run_id: 'r2' })
  assert.equal((await store.session('s1'))?.holder, 'r2')
  const start = (await store.events('r1'))[0]
  assert.ok(start?.type === 'run:start')
  await one.append('run:reopen', { key: null, limits: start.data.limits })
  assert.equal((await store.session('s1'))?.holder, 'r2')
  assert.equal((await store.session('s2'))?.holder, 'r1')
  await expectRejection(store.claimSession('s2', { run_id: 'r2' }), 'session_busy')
}

/** Appends one segment of three events, with an event of another session in between. */
async function writeSegment(writer: RunWriter, segment: number): Promise<void> {
  await writer.append('session:open', sessionOpenData(segment), 's1')
  await writer.append('custom:note', { key: 'elsewhere' })
  await writer.append('custom:note', { key: `note ${segment}` }, 's1')
  await writer.append('session:end', sessionEndData(`answer ${segment}`, segment), 's1')
}

export async function readsSessions(store: Store): Promise<void> {
  const one = await createLeasedRun(store, 'r1')
  for (const segment of [1, 2]) await writeSegment(one, segment)
  const two = await createLeasedRun(store, 'r2')
  await two.append('custom:note', { key: 'before' }, 's1')
  await writeSegment(two, 3)
  const three = await createLeasedRun(store, 'r3')
  await three.append('session:open', sessionOpenData(4), 's1')
  const positions = async (range?: Parameters<Store['sessionEvents']>[1]) =>
    (await store.sessionEvents('s1', range)).map(({ run_id, seq }) => `${run_id}/${seq}`)
  const all = ['r1/2', 'r1/4', 'r1/5', 'r1/6', 'r1/8', 'r1/9', 'r2/3', 'r2/5', 'r2/6', 'r3/2']
  assert.deepEqual(await positions(), all)
  assert.deepEqual(await positions({ after: { run_id: 'r1', seq: 5 } }), all.slice(3))
  assert.deepEqual(await positions({ after: { run_id: 'r1', seq: 4 } }), all.slice(2))
  assert.deepEqual(await positions({ after: { run_id: 'r2', seq: 6 } }), all.slice(9))
  assert.deepEqual(await positions({ after: { run_id: 'r3', seq: 2 } }), [])
  assert.deepEqual(await positions({ to: { run_id: 'r1', seq: 8 } }), all.slice(0, 5))
  assert.deepEqual(await positions({ to: { run_id: 'r2', seq: 6 } }), all.slice(0, 9))
  assert.deepEqual(await positions({ after: { run_id: 'r1', seq: 9 }, to: { run_id: 'r2', seq: 5 } }), all.slice(6, 8))
  assert.deepEqual(await positions({ after: { run_id: 'r0', seq: 1 }, to: { run_id: 'r0', seq: 1 } }), all)
  assert.deepEqual(await store.sessionEvents('s0'), [])
  const segments = await store.segments('s1')
  assert.deepEqual(segments.slice(2), await store.segments('s1', { run_id: 'r2', seq: 6 }))
  assert.deepEqual(segments.at(-1), { run_id: 'r3', from: 2, to: null })
  assert.deepEqual(await store.segments('s0'), [])
}

/** Longer than one page of a read. */
export async function readsLongSessions(store: Store): Promise<void> {
  const runs = 90
  for (let run = 1; run <= runs; run++) {
    const writer = await createLeasedRun(store, `r${run}`)
    const events = [
      writer.nextEvent('session:open', sessionOpenData(run), 's1'),
      ...Array.from({ length: 14 }, (_, n) =>
        writer.nextEvent('custom:note', { key: `${n}` }, n % 2 === 0 ? 's1' : 's2'),
      ),
      writer.nextEvent('session:end', sessionEndData('done', run), 's1'),
    ]
    assert.deepEqual(await writer.tryAppend(events), { ok: true })
  }
  const events = await store.sessionEvents('s1')
  assert.deepEqual(
    events.map(({ run_id, seq }) => `${run_id}/${seq}`),
    Array.from({ length: runs }, (_, n) => [2, 3, 5, 7, 9, 11, 13, 15, 17].map((seq) => `r${n + 1}/${seq}`)).flat(),
  )
  const rest = await store.sessionEvents('s1', { after: { run_id: 'r20', seq: 9 } })
  assert.deepEqual(rest, events.slice(19 * 9 + 5))
  assert.equal((await store.segments('s1')).length, runs)
}

/** Opening the same segment of the same run again, after an interruption, starts no new segment. */
export async function continuesInterruptedSegment(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('session:open', sessionOpenData(1), 's1')
  await writer.append('session:open', sessionOpenData(1), 's1')
  await writer.append('session:end', sessionEndData('one'), 's1')
  assert.deepEqual(await store.segments('s1'), [{ run_id: 'r1', from: 2, to: 4 }])
  const batch = [
    writer.nextEvent('session:open', sessionOpenData(2), 's1'),
    writer.nextEvent('session:end', sessionEndData('two', 2), 's1'),
    writer.nextEvent('session:open', sessionOpenData(3), 's1'),
  ]
  assert.deepEqual(await writer.tryAppend(batch), { ok: true })
  const row = await store.session('s1')
  assert.deepEqual([row?.text, row?.status, row?.turn_count, row?.segment], ['two', 'running', 2, 3])
  assert.deepEqual((await store.segments('s1')).slice(1), [
    { run_id: 'r1', from: 5, to: 6 },
    { run_id: 'r1', from: 7, to: null },
  ])
}
