import { expect, test } from 'vitest'
import { agent, createTestTroupe } from '../../../test/support/test-troupe.ts'
import type { Event } from '../../index.ts'
import { defineTool, isEvent } from '../../index.ts'
import * as z from '../../schema/zod.ts'
import { detailFrom } from './detail-from.ts'

const write = defineTool({
  name: 'Save',
  description: 'Writes a file.',
  kind: 'act',
  category: 'action',
  input: z.object({
    path: z.string(),
    content: z.string().optional(),
    old_string: z.string().optional(),
    new_string: z.string().optional(),
  }),
  subject: ({ path }) => path,
  execute: ({ path, content }) => ({ success: true, output: 'saved', files: [path], created: content ? [path] : [] }),
})

const call = (input: unknown) => ({ toolCalls: [{ name: 'Save', input }] })

async function runSaves() {
  const { troupe, task } = await createTestTroupe({
    agents: [agent('lead', { tools: ['Save'], permissions: { ask: ['Save(b.txt)'], deny: ['Save(secret.txt)'] } })],
    tools: [write],
    rules: [
      { when: { turn: 1 }, reply: call({ path: 'a.txt', content: 'one\ntwo\nthree\n' }) },
      { when: { turn: 2 }, reply: call({ path: 'a.txt', old_string: 'two\n', new_string: '2\n' }) },
      { when: { turn: 3 }, reply: call({ path: 'b.txt', content: 'b' }) },
      { when: { turn: 4 }, reply: call({ path: 'secret.txt', content: 'c' }) },
      { when: { turn: 5 }, reply: { text: 'done' } },
    ],
  })
  const parked = await task('lead', 'go')
  const { run_id } = await (await troupe.answer(parked.gates[0]?.gate_id ?? '', 'allow', { by: 'ann' })).result
  return { troupe, run_id, events: await troupe.events(run_id).all() }
}

function callKeys(events: readonly Event[]): string[] {
  const keys = events.flatMap((event) =>
    isEvent(event, 'tool:pre') || isEvent(event, 'tool:error') ? [event.data.key] : [],
  )
  return [...new Set(keys)]
}

test('PN2 a call has its diff, result, files and the person who allowed it', async () => {
  const { troupe, run_id, events } = await runSaves()
  const details = await Promise.all(callKeys(events).map((id) => troupe.detail(run_id, { kind: 'call', id })))
  const [first, second, third, fourth] = details
  expect(details).toHaveLength(4)
  expect(first).toMatchObject({ kind: 'Call 1', title: 'Save a.txt', from: 'lead', state: 'completed' })
  expect(second?.sections[0]).toEqual({
    title: 'Change',
    blocks: [{ kind: 'diff', path: 'a.txt', diff: '@@ -1,3 +1,3 @@\n one\n-two\n+2\n three' }],
  })
  expect(JSON.stringify(second?.sections)).toContain('"change":"modified"')
  const permission = third?.sections.find(({ title }) => title === 'Permission')
  expect(permission?.blocks[0]).toMatchObject({ rows: [{ answer: 'allow', by: 'ann' }] })
  expect(fourth).toMatchObject({ state: 'failed', title: 'Save secret.txt' })
  expect(JSON.stringify(fourth?.sections)).toContain('"value":"denied"')
  expect(fourth?.sections.some(({ title, blocks }) => title === 'Input' && blocks.length > 0)).toBe(true)
  await troupe.close()
})

test('PN3 every event has a detail, also one of an unknown type; an unknown place is invalid_input', async () => {
  const { troupe, run_id, events } = await runSaves()
  for (const { seq } of events)
    expect((await troupe.detail(run_id, { kind: 'event', id: `${seq}` })).json).toHaveLength(1)
  const odd = { run_id, seq: 900, at: 1, type: 'future:thing', data: null } as unknown as Event
  const detail = detailFrom([...events, odd], { kind: 'event', id: '900' })
  expect(detail?.sections[0]?.note).toBe('Event type "future:thing" is not known to this version; shown as JSON.')
  await expect(troupe.detail(run_id, { kind: 'call', id: 'none' })).rejects.toMatchObject({ code: 'invalid_input' })
  await expect(troupe.detail(run_id, { kind: 'toString' as 'call', id: '' })).rejects.toThrow(/known: .*turn/)
  await expect(troupe.detail(run_id, { kind: 'event', id: '3' }, { seq: 2 })).rejects.toThrow(/no event '3'/)
  await expect(troupe.panels(run_id, { seq: 0.5 })).rejects.toThrow(/`seq` is 0.5/)
  await troupe.close()
})

test('PN4 secrets are removed by the names of fields, and before long texts are cut', async () => {
  const secret = `sk-proj-${'Ab3'.repeat(16)}`
  const { troupe, task } = await createTestTroupe({
    agents: [agent('lead', { tools: ['Save'] })],
    tools: [write],
    rules: [
      {
        when: { turn: 1 },
        reply: call({ path: 'a.txt', content: `${'x '.repeat(99_980)}${secret} ${'y'.repeat(99_999)}` }),
      },
      { when: { turn: 2 }, reply: { text: `The key is ${secret}` } },
    ],
  })
  const { run_id } = await task('lead', `Use ${secret}`)
  const events = await troupe.events(run_id).all()
  const [id = ''] = callKeys(events)
  const detail = JSON.stringify(await troupe.detail(run_id, { kind: 'call', id }))
  expect(detail).not.toContain('sk-proj')
  expect(detail).toMatch(/cut: 200000 of \d+ characters are shown/)
  for (const event of events)
    if (isEvent(event, 'model:begin')) {
      const turn = event.data.key.replace(/\/model$/, '')
      expect(JSON.stringify(await troupe.detail(run_id, { kind: 'turn', id: turn }))).not.toContain(secret)
    }
  await troupe.close()
})
