import { expect, test } from 'vitest'
import type { Context } from '../../../kernel/context.ts'
import type { Row, TableQuery } from '../../../kernel/table-query.ts'
import { checkForLoops } from './check-for-loops.ts'
import { readLoopHistory } from './loop-history.ts'

const limits = {
  ...{ max_exchanges_per_collaboration: 5, max_identical_questions: 2, max_active_collaborations_per_agent: 3 },
  ...{ escalation_after_loops: 1, window_hours: 1, window_collaborations: 10 },
}

/** A context whose tables have these rows; only the columns that are compared matter. */
function contextWith(rows: readonly Row[]): Context {
  const matches = (row: Row, { where = {} }: TableQuery) =>
    Object.entries(where).every(([column, condition]) => {
      if (Array.isArray(condition)) return condition.includes(row[column] as string)
      if (typeof condition === 'object' && condition !== null && 'gt' in condition)
        return Number(row[column]) > Number(condition.gt)
      return row[column] === condition
    })
  return {
    run_id: 'r1',
    now: () => Promise.resolve(10_000_000),
    step: (_: string, effect: (signal: AbortSignal) => unknown) => effect(new AbortController().signal),
    query: (_: string, query: TableQuery) =>
      Promise.resolve(
        query.table === 'agent_collaborations' ? rows.filter((row) => matches(row, query)).slice(0, query.limit) : [],
      ),
  } as unknown as Context
}

const row = (id: string, given: Row = {}): Row => ({
  ...{ id, run_id: 'r1', requesting_agent: 'a', specialist_agent: null, question: `What is ${id}?` },
  ...{ status: 'pending', created_at: 9_999_999 },
  ...given,
})
async function check(rows: readonly Row[], collaboration_id: string) {
  const context = contextWith(rows)
  const max_active = limits.max_active_collaborations_per_agent
  return checkForLoops(context, {
    request: { collaboration_id, requesting_agent: 'a', question: `What is ${collaboration_id}?` },
    config: { limits },
    history: await readLoopHistory(context, { collaboration_id, agent: 'a', window: limits, max_active, key: 'k' }),
    key: 'k',
  })
}

test('CS215 of five requests at once exactly the last two are too many', async () => {
  const ids = ['e', 'b', 'd', 'a', 'c']
  const checks = await Promise.all(
    ids.map((id) =>
      check(
        ids.map((each) => row(each)),
        id,
      ),
    ),
  )
  const tooMany = ids.filter((_, index) => checks[index]?.status === 'TOO_MANY_ACTIVE')
  expect(tooMany).toEqual(['a', 'c'])
  expect(checks.at(-1)).toMatchObject({ action: 'continue', findings: [{ type: 'too_many_concurrent' }] })
})

test('CS215 consultations of other runs and agents do not wait here', async () => {
  const others = ['a', 'b', 'c', 'd'].map((id, index) =>
    row(id, index % 2 === 0 ? { run_id: 'r2' } : { requesting_agent: 'other' }),
  )
  expect(await check([...others, row('z')], 'z')).toMatchObject({ status: 'HEALTHY' })
})
