import assert from 'node:assert/strict'
import { isEvent } from '../../kernel/event.ts'
import type { PerformerAction } from '../scripted-performer.ts'
import { eventOf, finish, INSTRUCTION, openPerformerTroupe, verifiedEvents } from './performer-fixtures.ts'
import type { PerformerHarness } from './performer-harness.ts'

const ask = (subject: string): PerformerAction => ({
  do: 'ask',
  call: { tool: 'shell', input: { command: subject }, subject },
})

export async function appliesRules(harness: PerformerHarness): Promise<void> {
  const message: PerformerAction = { do: 'report', update: { type: 'message-end' } }
  const actions = [ask('ls'), message, ask('rm -rf /'), message, finish]
  const permissions = { allow: ['shell(ls)'] }
  const { troupe } = await openPerformerTroupe(harness, { actions }, { permissions })
  const result = await troupe.run('task', INSTRUCTION)
  const events = await verifiedEvents(troupe, result.run_id)
  const texts = events.flatMap((event) => (isEvent(event, 'performer:message') ? event.data.message.content : []))
  assert.equal(result.status, 'completed', result.error?.message)
  assert.deepEqual(texts[0], { type: 'text', text: 'allowed' })
  assert.match(JSON.stringify(texts[1]), /denied: permission denied for .*shell/)
  assert.ok(events.every((event) => event.type !== 'gate:open'))
  await troupe.close()
}

export async function asksPerson(harness: PerformerHarness): Promise<void> {
  for (const answer of ['allow', 'deny']) {
    const permissions = { ask: ['shell'] }
    const { troupe, store, turns } = await openPerformerTroupe(
      harness,
      { actions: [ask('make'), finish] },
      { permissions },
    )
    const handle = await troupe.stream('task', INSTRUCTION)
    await eventOf(store, handle.run_id, 'gate:open')
    const [gate] = await troupe.gates().all()
    assert.match(gate?.question ?? '', /May coder call shell\(make\)\?/)
    assert.equal((await store.run(handle.run_id))?.status, 'running')
    await troupe.answer(gate?.gate_id ?? '', answer)
    const result = await handle.result
    assert.equal(result.status, 'completed', result.error?.message)
    const events = await verifiedEvents(troupe, handle.run_id)
    assert.ok(events.every((event) => event.type !== 'run:park'))
    const end = events.find((event) => event.type === 'session:end')
    assert.match(isEvent(end, 'session:end') ? end.data.text : '', answer === 'allow' ? /^allowed$/ : /^denied/)
    assert.equal(turns.length, 1)
    assert.deepEqual((await troupe.replay(handle.run_id)).differences, [])
    await troupe.close()
  }
}

export async function parksRun(harness: PerformerHarness): Promise<void> {
  const actions: PerformerAction[] = [{ do: 'save', session: 'ext-1' }, ask('make'), finish]
  const script = { actions, resumed: [ask('make'), finish], parkable: true as const }
  const { troupe, turns } = await openPerformerTroupe(harness, script, { permissions: { ask: ['shell'] } })
  const waiting = await troupe.run('task', INSTRUCTION)
  assert.equal(waiting.status, 'waiting')
  assert.ok(turns[0]?.signal.aborted)
  const [gate] = await troupe.gates().all()
  const result = await (await troupe.answer(gate?.gate_id ?? '', 'allow')).result
  assert.equal(result.status, 'completed', result.error?.message)
  assert.deepEqual(
    turns.map(({ resume }) => resume),
    [undefined, 'ext-1'],
  )
  const events = await verifiedEvents(troupe, result.run_id)
  assert.equal(events.filter((event) => event.type === 'gate:open').length, 1)
  await troupe.close()
}
