import assert from 'node:assert/strict'
import { isEvent } from '../../kernel/event.ts'
import type { PerformerAction } from '../scripted-performer.ts'
import { finish, INSTRUCTION, openPerformerTroupe, report, text, usage, verifiedEvents } from './performer-fixtures.ts'
import type { PerformerHarness } from './performer-harness.ts'

const tool = (id: string, output: string): PerformerAction[] => [
  report({ type: 'tool-start', id, tool: 'shell', input: { command: 'ls' } }),
  report({ type: 'tool-end', id, output }),
]

export async function recordsUpdates(harness: PerformerHarness): Promise<void> {
  const actions = [
    report({ type: 'plan', entries: [{ content: 'look', status: 'in_progress' }] }),
    text('Let me '),
    text('look.'),
    ...tool('a', 'file.txt'),
    report({ type: 'tool-start', id: 'b', tool: 'edit', input: {} }),
    report({ type: 'tool-end', id: 'b', error: 'no such file' }),
    text('Done.'),
    finish,
  ]
  const { troupe } = await openPerformerTroupe(harness, { actions })
  const result = await troupe.run('task', INSTRUCTION)
  assert.equal(result.status, 'completed')
  const events = await verifiedEvents(troupe, result.run_id)
  const recorded = events.map(({ type }) => type).filter((type) => /^(performer|tool):/.test(type))
  assert.deepEqual(recorded, [
    'performer:plan',
    'performer:message',
    'tool:pre',
    'tool:post',
    'tool:pre',
    'tool:error',
    'performer:message',
  ])
  const messages = events.flatMap((event) => (isEvent(event, 'performer:message') ? event.data.message.content : []))
  assert.deepEqual(messages, [
    { type: 'text', text: 'Let me look.' },
    { type: 'text', text: 'Done.' },
  ])
  const end = events.find((event) => event.type === 'session:end')
  assert.ok(isEvent(end, 'session:end'))
  assert.equal(end.data.text, 'Done.')
  assert.deepEqual((await troupe.replay(result.run_id)).differences, [])
  await troupe.close()
}

export async function countsUsage(harness: PerformerHarness): Promise<void> {
  const actions = [text('One.'), usage(100, 10, 0.25), text('Two.'), usage(200, 20, 0.5), finish]
  const { troupe } = await openPerformerTroupe(harness, { actions })
  const result = await troupe.run('task', INSTRUCTION)
  const { calls, input, output, usd } = result.usage
  assert.deepEqual({ calls, input, output, usd }, { calls: 2, input: 300, output: 30, usd: 0.75 })
  const events = await verifiedEvents(troupe, result.run_id)
  const reserved = events.flatMap((event) => (isEvent(event, 'model:begin') ? event.data.reserved.tokens : []))
  assert.deepEqual(reserved, [0, 0])
  await troupe.close()
}

export async function stopsAtLimit(harness: PerformerHarness): Promise<void> {
  const actions: PerformerAction[] = [
    { do: 'save', session: 'ext-1' },
    text('Working.'),
    usage(900, 200),
    { do: 'stall' },
  ]
  const resumed = [text('All done.'), usage(10, 5), finish]
  const { troupe, turns } = await openPerformerTroupe(harness, { actions, resumed })
  const limited = await troupe.stream('task', INSTRUCTION, { limits: { tokens: 1000 } })
  const result = await limited.result
  assert.equal(result.error?.code, 'limit_reached')
  assert.deepEqual(result.error?.alternatives, ['tokens'])
  assert.ok(turns[0]?.signal.aborted)
  const handle = await troupe.resume(result.run_id, { limits: { tokens: 5000 } })
  const second = await handle.result
  assert.equal(second.status, 'completed', second.error?.message)
  assert.deepEqual(
    turns.map(({ resume, interrupted }) => ({ resume, interrupted })),
    [
      { resume: undefined, interrupted: false },
      { resume: 'ext-1', interrupted: true },
    ],
  )
  assert.equal(second.usage.input, 910)
  await verifiedEvents(troupe, result.run_id)
  await troupe.close()
}
