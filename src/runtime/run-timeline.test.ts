import { expect, test } from 'vitest'
import { echo, rules } from '../../test/support/recorded-run.ts'
import { agents, createTestTroupe, modelFromRules } from '../../test/support/test-troupe.ts'
import { newTimeline, reduceTimeline, timelineSnapshot } from '../views/timeline/reduce-timeline.ts'

async function parkedRun(options = {}) {
  const retryPolicy = {
    ready: () => undefined,
    next: ({ model, error }: { model: string; error: { retry: boolean } }) =>
      error.retry ? { model, delay_ms: 3 } : undefined,
  }
  const scope = await createTestTroupe({
    agents,
    tools: [echo],
    engine: { retryPolicy },
    model: modelFromRules(...rules),
    ...options,
  })
  const parked = await scope.task('lead', 'go with sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz0123456789')
  return { ...scope, parked }
}

test('TL7 the timeline of a stored run equals the one that a program reduces, at any event', async () => {
  const { troupe, parked } = await parkedRun()
  const { run_id } = parked
  const { seq, timeline } = await troupe.timeline(run_id)
  expect(timeline.run).toMatchObject([{ id: run_id, status: 'waiting', head: seq }])
  const events = await troupe.events(run_id).all()
  const state = newTimeline(await troupe.timelineSources())
  for (const event of events.slice(0, 10)) reduceTimeline(state, event)
  expect((await troupe.timeline(run_id, { seq: 10 })).timeline).toEqual(timelineSnapshot(state))
  expect(JSON.stringify(timeline)).not.toContain('0123456789abcdefghijklmnopqrstuvwxyz')
  await expect(troupe.timeline(run_id, { seq: 0 })).rejects.toMatchObject({ code: 'invalid_input' })
  await expect(troupe.timeline('r_none')).rejects.toMatchObject({ code: 'unknown_run' })
  await troupe.close()
})

test('TL16 the rows since an event bring an older timeline up to date, also twice', async () => {
  const { troupe, parked } = await parkedRun()
  const { run_id } = parked
  const { seq: head, timeline: newest } = await troupe.timeline(run_id)
  for (let since = 1; since <= head; since += 3) {
    const { timeline: changes } = await troupe.timeline(run_id, { since })
    for (const seq of [since, Math.min(head, since + 2)]) {
      const { timeline } = await troupe.timeline(run_id, { seq })
      const tables = Object.entries(timeline).map(([table, rows]) => {
        const byId = new Map(rows.map((row) => [row.id, row]))
        const again = changes[table as 'turns']
        for (const row of [...again, ...again]) byId.set(row.id, row as never)
        return [table, [...byId.values()]] as const
      })
      expect(Object.fromEntries(tables)).toEqual(newest)
    }
    expect(changes.calls.length).toBeLessThanOrEqual(newest.calls.length)
  }
  expect((await troupe.timeline(run_id, { since: head })).timeline).toMatchObject({ run: [], turns: [], calls: [] })
  await troupe.close()
})

test('TL8 a summary tells agents, bars, the last event and progress; unknown runs have none', async () => {
  const { troupe, parked } = await parkedRun()
  const [summary, ...more] = await troupe.runSummaries([parked.run_id, 'r_none', parked.run_id])
  expect(more).toEqual([])
  expect(summary).toMatchObject({
    run_id: parked.run_id,
    agents: ['lead', 'coder', 'critic'],
    last_event: { text: expect.stringContaining('lead asks: ship'), tone: 'attention' },
    progress: { text: '3 of 3 tasks', share: 1 },
    stalled: null,
  })
  for (const { bars } of summary?.lanes ?? []) {
    expect(bars.length).toBeGreaterThan(0)
    for (const [from, to] of bars) expect([from >= 0, to >= from, to <= 1]).toEqual([true, true, true])
  }
  const handle = await troupe.answer(parked.gates[0]?.gate_id ?? '', 'yes', { by: 'ann' })
  await handle.result
  const [ended] = await troupe.runSummaries([parked.run_id])
  expect(ended?.last_event).toMatchObject({ text: expect.stringContaining('Shipped'), tone: 'neutral' })
  await troupe.close()
})
