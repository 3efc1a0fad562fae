import { expect, test } from 'vitest'
import { parseSse } from '../../../../test/support/sse-client.ts'
import { quickStreams } from '../../../../test/support/stream-harness.ts'
import { agents, createTestTroupe, taskCall } from '../../../../test/support/test-troupe.ts'
import type { Timeline } from '../../../entries/inspect.ts'
import { loadPatternViews } from '../../../views/pattern-views.ts'
import { timelineFrom } from '../../../views/timeline/reduce-timeline.ts'
import type { TimelineChanges } from '../../../views/timeline/timeline.ts'
import { createStreams } from './streams.ts'
import { newTimelineFold } from './timeline-fold.ts'

test('HT10 a client that watched a run from its start has the timeline of its journal', async () => {
  const { troupe } = await createTestTroupe({
    agents,
    rules: [
      { when: { agent: 'lead', turn: 1 }, reply: { text: 'I delegate.', toolCalls: [taskCall('coder', 'Write it.')] } },
      { when: { agent: 'lead' }, reply: { text: 'Done.' } },
      { when: { agent: 'coder' }, reply: { text: 'Written.' } },
    ],
  })
  const streams = createStreams({ troupe, newFold: () => newTimelineFold(troupe), options: quickStreams })
  const { run_id, result } = await troupe.stream('task', { agent: 'lead', instruction: 'Build it.' })
  const { body } = streams.respond(streams.timeline(run_id, undefined))
  await result
  const events = await troupe.events(run_id).all()
  const tables = new Map<string, Map<string, object>>()
  for await (const { event, id, data } of parseSse(body as ReadableStream<Uint8Array>)) {
    const { timeline, rows } = data as { timeline?: Timeline; rows?: TimelineChanges['rows'] }
    for (const [name, list] of Object.entries(timeline ?? rows ?? {})) {
      const table = tables.get(name) ?? new Map<string, object>()
      tables.set(name, table)
      for (const row of list) table.set(row.id, row)
    }
    if (event !== 'panels' && Number(id) === events.length) break
  }
  const views = await loadPatternViews(await troupe.patterns())
  const { run, lanes, sessions, turns, calls, links } = timelineFrom(events, { views })
  const received = (name: string) => [...(tables.get(name)?.values() ?? [])]
  expect(lanes.map(({ label }) => label)).toEqual(['lead', 'coder'])
  expect(received('lanes')).toEqual(lanes)
  expect(received('sessions')).toEqual(sessions)
  expect(received('calls')).toEqual(calls)
  expect(received('links')).toEqual(links)
  expect(received('turns')).toHaveLength(turns.length)
  expect(received('run')).toMatchObject([{ status: 'completed', head: run[0]?.head }])
  streams.close()
  await troupe.close()
})

test('HT10 the timeline has the prices of the operator and no secrets', async () => {
  const prices = { cost: () => 0.25 }
  const { troupe } = await createTestTroupe({ agents, rules: [{ reply: { text: 'Done.' } }], models: { prices } })
  const secret = `ghp_${'a1B2'.repeat(9)}`
  const { run_id } = await troupe.run('task', { agent: 'lead', instruction: `Use ${secret}` })
  const fold = await newTimelineFold(troupe)
  for (const event of await troupe.events(run_id).all()) fold.add(event)
  const text = JSON.stringify(fold.snapshot())
  expect(JSON.parse(text).run[0].usd).toBe(0.25)
  expect(text).not.toContain(secret)
  await troupe.close()
})
