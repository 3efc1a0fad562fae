import { expect, test } from 'vitest'
import { echo, retryPolicy, rules } from '../../../test/support/recorded-run.ts'
import { agents, createTestTroupe } from '../../../test/support/test-troupe.ts'
import type { Redactor } from '../../kernel/redactor.ts'
import { detailFrom } from '../detail/detail-from.ts'
import { loadPatternViews } from '../pattern-views.ts'
import type { LoadedView } from '../run-view.ts'
import type { RunExport } from './run-export.ts'
import { placesOf, runExportFrom } from './run-export.ts'
import { valueFromPool } from './value-pool.ts'

async function recordRun() {
  const { troupe, task } = await createTestTroupe({ agents, tools: [echo], rules, engine: { retryPolicy } })
  const parked = await task('lead', 'go with sk-secret')
  const { run_id } = await (await troupe.answer(parked.gates[0]?.gate_id ?? '', 'yes', { by: 'ann' })).result
  const views = await loadPatternViews(await troupe.patterns())
  return { events: await troupe.events(run_id).all(), views }
}

/** Replaces the word, and counts how often each text of a field is searched. */
function countingRedactor(): Redactor & { searched: Map<string, number> } {
  const searched = new Map<string, number>()
  return {
    searched,
    redact(text, field) {
      const key = `${field}\n${text}`
      searched.set(key, (searched.get(key) ?? 0) + 1)
      return text.replaceAll('sk-secret', '[redacted]')
    },
  }
}

test('WR24 the detail of every place is the one that the server gives', async () => {
  const { events, views } = await recordRun()
  const redactor = countingRedactor()
  const sources = { events, exported_at: 0, panels: [], artifacts: [], timeline: { views }, earlier: () => [] }
  const pool = runExportFrom({ ...sources, details: { views, redactor } })
  const { details, timeline } = valueFromPool(JSON.parse(JSON.stringify(pool))) as RunExport
  const places = placesOf(timeline)
  expect(places.length).toBeGreaterThan(15)
  for (const ref of places) {
    const alone = detailFrom(events, ref, { views, redactor: countingRedactor() })
    expect(details[`${ref.kind}:${ref.id}`], `${ref.kind} ${ref.id}`).toEqual(JSON.parse(JSON.stringify(alone)))
  }
  expect(JSON.stringify(details)).toContain('[redacted]')
  expect(JSON.stringify(details)).not.toContain('sk-secret')
})

test('WR24 the work grows with the journal, not with its places: texts are searched once, and patterns are reduced once', async () => {
  const { events, views } = await recordRun()
  let reductions = 0
  const counted: LoadedView[] = views.map((loaded) => ({
    ...loaded,
    view: {
      ...loaded.view,
      initial: () => {
        reductions += 1
        return loaded.view.initial()
      },
    },
  }))
  const redactor = countingRedactor()
  const sources = { events, exported_at: 0, panels: [], artifacts: [], timeline: { views: counted }, earlier: () => [] }
  runExportFrom({ ...sources, details: { views: counted, redactor } })
  expect([...redactor.searched].filter(([, times]) => times > 1)).toEqual([])
  // Once for the timeline and once for the outputs of sessions.
  expect(reductions).toBeLessThanOrEqual(2 * views.length)
})
