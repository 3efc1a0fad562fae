import assert from 'node:assert/strict'
import type { CommandBody, Store } from '../../store/store.ts'
import { createLeasedRun, expectRejection, gateOpenData, NOW, runEndData } from './store-harness.ts'

const yesAnswer = (gate_id: string, by = 'eve'): CommandBody => ({ kind: 'answer', gate_id, answer: 'yes', by })

export async function listsOpenGates(store: Store): Promise<void> {
  const one = await createLeasedRun(store, 'r1')
  const other = await createLeasedRun(store, 'r2', 'other')
  const opened = await one.append('gate:open', { ...gateOpenData('zz', 'first?'), detail: 'd'.repeat(5000) }, 's1')
  await other.append('gate:open', gateOpenData('mm'))
  await one.append('gate:open', gateOpenData('aa'))
  assert.deepEqual(await store.gate('zz'), {
    key: 'gates/zz',
    gate_id: 'zz',
    question: 'first?',
    choices: ['yes', 'no'],
    detail: 'd'.repeat(5000),
    project: 'default',
    run_id: 'r1',
    session_id: 's1',
    opened_at: opened.at,
    answered_at: null,
    answer: null,
  })
  const ids = async (filter: Parameters<Store['openGates']>[0]) =>
    (await store.openGates(filter)).map(({ gate_id }) => gate_id)
  assert.deepEqual(await ids({}), ['zz', 'mm', 'aa'])
  assert.deepEqual(await ids({ project: 'default' }), ['zz', 'aa'])
  assert.deepEqual(await ids({ run_id: 'r2' }), ['mm'])
  assert.deepEqual(await ids({ project: 'default', run_id: 'r2' }), [])
  assert.deepEqual(await ids({ limit: 2 }), ['zz', 'mm'])
  assert.deepEqual(await ids({ after: 'zz' }), ['mm', 'aa'])
  assert.deepEqual(await ids({ project: 'default', after: 'mm', limit: 5 }), ['aa'])
  assert.deepEqual(await ids({ run_id: 'r1', after: 'zz', limit: 1 }), ['aa'])
  assert.deepEqual(await ids({ after: 'aa' }), [])
  assert.deepEqual(await ids({ after: 'none such' }), [])
  const answer = { pick: ['yes'], why: '\ud800' }
  const answered = await one.append('gate:answer', { key: 'gates/zz', gate_id: 'zz', answer, by: 'eve' })
  assert.deepEqual(await ids({ project: 'default' }), ['aa'])
  assert.deepEqual(await ids({ after: 'zz' }), ['mm', 'aa'])
  const row = await store.gate('zz')
  assert.deepEqual([row?.answered_at, row?.answer], [answered.at, answer])
  assert.equal(await store.gate('nope'), undefined)
}

export async function removesGatesOfEndedRuns(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('gate:open', gateOpenData('g1'))
  await writer.append('run:end', runEndData('cancelled'))
  assert.deepEqual(await store.openGates({}), [])
  const start = (await store.events('r1'))[0]
  assert.ok(start?.type === 'run:start')
  await writer.append('run:reopen', { key: null, limits: start.data.limits })
  assert.deepEqual(
    (await store.openGates({})).map(({ gate_id }) => gate_id),
    ['g1'],
  )
}

export async function queuesCommands(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  await createLeasedRun(store, 'r2')
  await writer.append('gate:open', gateOpenData('g1'))
  const first = await store.enqueueCommand('r1', { kind: 'cancel', reason: 'no \ud800', by: 'eve' }, NOW)
  const otherRun = await store.enqueueCommand('r2', { kind: 'cancel', reason: '', by: 'eve' }, NOW)
  const second = await store.enqueueCommand('r1', yesAnswer('g1'), NOW + 5)
  assert.ok(first.id > 0 && otherRun.id > first.id && second.id > otherRun.id)
  assert.deepEqual(second, { id: second.id, run_id: 'r1', at: NOW + 5, body: yesAnswer('g1') })
  assert.deepEqual(await store.commands('r1', 0), [first, second])
  assert.deepEqual(await store.commands('r1', first.id), [second])
  assert.deepEqual(await store.commands('r1', second.id), [])
  await expectRejection(store.commands('r0', 0), 'unknown_run')
}

export async function keepsSteerCommands(store: Store): Promise<void> {
  await createLeasedRun(store, 'r1')
  const actions = [
    { do: 'pause' },
    { do: 'override', agent: 'wr\ud800iter' },
    { do: 'set', name: 'most', value: 0.5 },
    { do: 'say', text: 'line\nbreak' },
  ] as const
  const bodies = actions.map((action): CommandBody => ({ kind: 'steer', action, by: 'eve' }))
  const queued = []
  for (const body of bodies) queued.push(await store.enqueueCommand('r1', body, NOW))
  assert.deepEqual(
    (await store.commands('r1', 0)).map(({ body }) => body),
    bodies,
  )
  assert.deepEqual(await store.commandsSince(0), queued)
}

export async function acceptsFirstAnswerOnly(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('gate:open', gateOpenData('g1'))
  await writer.append('gate:open', gateOpenData('g2'))
  const attempts = ['ann', 'bob', 'cid'].map((by) => store.enqueueCommand('r1', yesAnswer('g1', by), NOW))
  const settled = await Promise.allSettled(attempts)
  const winnerIndex = settled.findIndex(({ status }) => status === 'fulfilled')
  assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1)
  const winner = ['ann', 'bob', 'cid'][winnerIndex] ?? ''
  await expectRejection(
    store.enqueueCommand('r1', yesAnswer('g1', 'dan'), NOW),
    'gate_answered',
    new RegExp(`answered by ${winner}`),
  )
  assert.equal((await store.commands('r1', 0)).length, 1)
  assert.deepEqual(
    (await store.openGates({})).map(({ gate_id, pending_answer_by }) => [gate_id, pending_answer_by]),
    [
      ['g1', winner],
      ['g2', undefined],
    ],
  )
  await writer.append('gate:answer', { key: 'gates/g2', gate_id: 'g2', answer: 'no', by: 'the owner' })
  await expectRejection(store.enqueueCommand('r1', yesAnswer('g2'), NOW), 'gate_answered', /the owner/)
  await writer.append('gate:answer', { key: 'gates/g1', gate_id: 'g1', answer: 'yes', by: winner })
  assert.equal((await store.gate('g1'))?.pending_answer_by, undefined)
}

export async function rejectsMisdirectedCommands(store: Store): Promise<void> {
  const one = await createLeasedRun(store, 'r1')
  const two = await createLeasedRun(store, 'r2')
  await one.append('gate:open', gateOpenData('deploy'))
  await two.append('gate:open', gateOpenData('publish'))
  const unknown = await expectRejection(store.enqueueCommand('r1', yesAnswer('deplyo'), NOW), 'unknown_gate', /deploy/)
  assert.deepEqual(unknown.alternatives, ['deploy'])
  await expectRejection(store.enqueueCommand('r1', yesAnswer('publish'), NOW), 'unknown_gate')
  await expectRejection(store.enqueueCommand('r0', { kind: 'cancel', reason: '', by: 'eve' }, NOW), 'unknown_run', /r1/)
  await one.append('run:end', runEndData())
  await expectRejection(store.enqueueCommand('r1', yesAnswer('deploy'), NOW), 'run_ended', /completed/)
  await expectRejection(store.enqueueCommand('r1', { kind: 'cancel', reason: '', by: 'eve' }, NOW), 'run_ended')
  assert.deepEqual(await store.commands('r1', 0), [])
}

export async function readsAllCommands(store: Store): Promise<void> {
  assert.equal(await store.newestCommand(), 0)
  for (const run_id of ['r1', 'r2', 'r3']) await createLeasedRun(store, run_id)
  const cancel = (run_id: string) => store.enqueueCommand(run_id, { kind: 'cancel', reason: 'enough', by: 'eve' }, NOW)
  const first = await cancel('r2')
  const others = [await cancel('r1'), await cancel('r2'), await cancel('r3')]
  assert.deepEqual(await store.commandsSince(0), [first, ...others])
  assert.deepEqual(await store.commandsSince(first.id), others)
  assert.equal(await store.newestCommand(), others[2]?.id)
  assert.deepEqual(await store.commandsSince(await store.newestCommand()), [])
}
