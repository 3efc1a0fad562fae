import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { consult } from '../../src/patterns/consult/consult.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { projectionOf } from '../../src/store/tables/projection.ts'
import { createLeasedRun } from '../../src/testing/store/store-harness.ts'
import { createCliFixture } from './cli-fixture.ts'

const request = {
  request_type: 'agent_consultation',
  requesting_agent: 'frontend_developer',
  question: 'Which fields has the User model?',
  context: {},
  urgency: 'normal',
}
const routed = {
  ...{ agent: 'backend_developer', consultation_reason: 'model_data', rationale: 'owns the models', method: 'model' },
  ...{ hint: 'none', session_id: 's1', tokens: 120, cost_usd: 0.5 },
}

/** A store with two consultations, without any configuration or model. */
async function createFixture() {
  const cli = await createCliFixture()
  const store = await openSqlite(join(cli.folder, '.troupe', 'troupe.db'))
  const projection = projectionOf(consult)
  if (projection) await store.keepTables([projection])
  const writer = await createLeasedRun(store, 'r_1')
  const emit = (type: string, collaboration_id: string, data: object) =>
    writer.append(type as never, { collaboration_id, ...data, key: `${type}-${writer.head}` } as never)
  for (const id of ['c1', 'c2']) {
    await emit('consult:request', id, request)
    await emit('consult:routed', id, { ...routed, agent: id === 'c1' ? 'backend_developer' : 'evil\u001b[31m\nagent' })
  }
  await emit('consult:resolved', 'c1', { outcome_type: 'successful', resolution_summary: 'id, name' })
  await emit('consult:rated', 'c1', { success_rating: 4, rated_by: 'frontend_developer' })
  await store.close()
  return cli
}

/** Wrapped and aligned output as one line. */
const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

describe('troupe metrics', () => {
  test('L84 metrics prints the figures of patterns as a table and as JSON', async () => {
    const cli = await createFixture()
    const table = await cli.troupeWith({ env: { COLUMNS: '200' } }, 'metrics')
    expect(table.code).toBe(0)
    expect(oneLine(table.out)).toContain('pair consultations success')
    expect(oneLine(table.out)).toContain('frontend_developer → backend_developer 1 100%')
    expect(oneLine(table.out)).toContain('total 2 100%')
    expect(table.out).not.toContain('\u001b[31m')
    const { reports, since } = JSON.parse((await cli.troupe('metrics', '--by', 'scenario', '--json')).out)
    expect(since).toBe(null)
    expect(reports).toMatchObject([
      {
        ...{ pattern: 'consult', by: 'scenario' },
        groups: [{ group: 'model_data', figures: { consultations: 2, routing_tokens: 240, cost_usd: 0.5, rating: 4 } }],
      },
    ])
    const narrow = await cli.troupeWith({ env: { COLUMNS: '47' } }, 'metrics', '--by', 'period')
    expect(Math.max(...narrow.out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(47)
    expect(oneLine(narrow.out)).toContain('2023-11-14 2')
  })

  test('L84 metrics restricts by day, and names the known groupings and patterns', async () => {
    const cli = await createFixture()
    const later = await cli.troupe('metrics', '--since', '2026-01-01')
    expect(later).toMatchObject({ code: 0, out: '' })
    expect(oneLine(later.err)).toContain('consult: nothing recorded since 2026-01-01')
    const grouping = await cli.troupe('metrics', '--by', 'pairs')
    expect(grouping.code).not.toBe(0)
    expect(oneLine(grouping.err)).toContain("'pairs'; known: pair")
    const pattern = await cli.troupe('metrics', 'consul')
    expect(oneLine(pattern.err)).toContain("'consul'; known: consult")
    const day = await cli.troupe('metrics', '--since', 'yesterday')
    expect(oneLine(day.err)).toContain('--since yesterday: not a valid date')
  })
})
