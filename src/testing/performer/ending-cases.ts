import assert from 'node:assert/strict'
import { isEvent } from '../../kernel/event.ts'
import type { PerformerAction } from '../scripted-performer.ts'
import {
  eventOf,
  finish,
  INSTRUCTION,
  openPerformerTroupe,
  report,
  text,
  verifiedEvents,
} from './performer-fixtures.ts'
import type { PerformerHarness } from './performer-harness.ts'

export async function failsSession(harness: PerformerHarness): Promise<void> {
  const failures: [PerformerAction, RegExp][] = [
    [{ do: 'throw', message: 'the agent broke' }, /the agent broke/],
    [{ do: 'quit' }, /ended without a result/],
  ]
  for (const [failure, message] of failures) {
    const { troupe } = await openPerformerTroupe(harness, { actions: [text('So far.'), failure] })
    const { result: ending } = await troupe.stream('task', INSTRUCTION)
    const result = await ending
    assert.equal(result.status, 'failed')
    assert.equal(result.error?.code, 'performer_failed')
    assert.match(result.error?.message ?? '', message)
    const events = await verifiedEvents(troupe, result.run_id)
    const end = events.find((event) => event.type === 'session:end')
    assert.equal(isEvent(end, 'session:end') ? end.data.text : '', 'So far.')
    assert.deepEqual((await troupe.replay(result.run_id)).differences, [])
    await troupe.close()
  }
}

export async function stopsAtDeadline(harness: PerformerHarness): Promise<void> {
  const actions: PerformerAction[] = [text('So far.'), { do: 'stall' }]
  const { troupe, turns } = await openPerformerTroupe(harness, { actions }, { timeout_ms: 3000 })
  const { result: ending } = await troupe.stream('task', INSTRUCTION)
  const result = await ending
  assert.equal(result.error?.code, 'timeout')
  assert.ok(turns[0]?.signal.aborted)
  const events = await verifiedEvents(troupe, result.run_id)
  const end = events.find((event) => event.type === 'session:end')
  assert.ok(isEvent(end, 'session:end'))
  assert.deepEqual([end.data.stop_reason, end.data.text], ['timeout', 'So far.'])
  await troupe.close()
}

export async function stopsOnCancel(harness: PerformerHarness): Promise<void> {
  const tool = report({ type: 'tool-start', id: 'a', tool: 'shell', input: {} })
  const actions: PerformerAction[] = [text('So far.'), tool, { do: 'stall' }]
  const { troupe, store, turns } = await openPerformerTroupe(harness, { actions })
  const handle = await troupe.stream('task', INSTRUCTION)
  await eventOf(store, handle.run_id, 'tool:pre')
  const result = await handle.cancel('enough')
  assert.equal(result.status, 'cancelled')
  assert.ok(turns[0]?.signal.aborted)
  const events = await verifiedEvents(troupe, handle.run_id)
  const end = events.find((event) => event.type === 'session:end')
  assert.equal(isEvent(end, 'session:end') ? end.data.text : '', 'So far.')
  await troupe.close()
}

export async function resumesTurn(harness: PerformerHarness): Promise<void> {
  const tool = report({ type: 'tool-start', id: 'a', tool: 'shell', input: {} })
  const actions: PerformerAction[] = [{ do: 'save', session: 'ext-1' }, text('Begun.'), tool, { do: 'stall' }]
  const first = await openPerformerTroupe(harness, { actions })
  const handle = await first.troupe.stream('task', INSTRUCTION)
  await eventOf(first.store, handle.run_id, 'tool:pre')
  await first.troupe.drain()
  assert.equal((await first.store.run(handle.run_id))?.status, 'pending')
  const script = { actions: [{ do: 'quit' as const }], resumed: [text('Continued.'), finish] }
  const second = await openPerformerTroupe(harness, script, { store: first.store })
  const result = await (await second.troupe.resume(handle.run_id)).result
  assert.equal(result.status, 'completed', result.error?.message)
  assert.deepEqual(
    second.turns.map(({ resume, interrupted }) => ({ resume, interrupted })),
    [{ resume: 'ext-1', interrupted: true }],
  )
  const events = await verifiedEvents(second.troupe, handle.run_id)
  assert.equal(events.filter((event) => isEvent(event, 'step:begin')).length, 1)
  const again = await (await second.troupe.resume(handle.run_id)).result
  assert.equal(again.status, 'completed')
  assert.equal(second.turns.length, 1)
  await second.troupe.close()
}

export async function reportsUnknownOutcome(harness: PerformerHarness): Promise<void> {
  const call = { tool: 'shell', input: {}, subject: 'make' }
  const script = { actions: [{ do: 'ask' as const, call }, finish] }
  const permissions = { ask: ['shell'] }
  const first = await openPerformerTroupe(harness, script, { permissions })
  const handle = await first.troupe.stream('task', INSTRUCTION)
  await eventOf(first.store, handle.run_id, 'gate:open')
  await first.troupe.drain()
  const second = await openPerformerTroupe(
    harness,
    { actions: [text('Again.'), finish] },
    { store: first.store, permissions },
  )
  const result = await (await second.troupe.resume(handle.run_id)).result
  assert.equal(result.error?.code, 'outcome_unknown')
  assert.equal(second.turns.length, 0)
  const forced = await (await second.troupe.resume(handle.run_id, { force: true })).result
  assert.equal(forced.status, 'completed', forced.error?.message)
  assert.equal(second.turns.length, 1)
  await second.troupe.close()
}

export async function continuesSession(harness: PerformerHarness): Promise<void> {
  const script = {
    actions: [
      { do: 'save' as const, session: 'ext-1' },
      report({ type: 'tool-start', id: 'a', tool: 'shell', input: {} }),
      report({ type: 'tool-end', id: 'a', output: 'ok' }),
      text('First.'),
      finish,
    ],
    resumed: [text('Second.'), finish],
  }
  const { troupe, turns } = await openPerformerTroupe(harness, script)
  const first = await troupe.run('task', INSTRUCTION)
  const [session] = await troupe.sessions({ run_id: first.run_id }).all()
  const second = await troupe.run('task', { session_id: session?.session_id, instruction: 'and now?' })
  assert.equal(second.status, 'completed', second.error?.message)
  assert.equal(turns[1]?.resume, 'ext-1')
  assert.equal(turns[1]?.interrupted, false)
  assert.deepEqual(turns[1]?.instruction.content, [{ type: 'text', text: 'and now?' }])
  assert.deepEqual(
    turns[1]?.messages.map(({ role }) => role),
    ['user', 'assistant'],
  )
  await troupe.close()
}
