import type { Status } from '../../../index.ts'
import * as z from '../../../schema/zod.ts'
import type { RunPage } from '../contract.ts'
import { defineRoute, queryList, queryNumber } from './route.ts'
import { runItemFrom } from './run-item.ts'

const STATUSES = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled'] as const satisfies Status[]

const limit = queryNumber.refine((value) => value >= 1 && value <= 1000, 'not from 1 to 1000').optional()

const listRuns = defineRoute({
  method: 'GET',
  path: '/api/runs',
  summary: 'List runs, newest first.',
  tag: 'runs',
  scope: 'read',
  query: z.strictObject({
    status: queryList.pipe(z.array(z.enum(STATUSES))).optional(),
    pattern: z.string().max(64).optional(),
    tag: queryList.optional(),
    text: z.string().max(500).optional(),
    cursor: z.string().max(2000).optional(),
    limit,
  }),
  response: { description: 'A page of runs (`RunPage`).' },
  async handle({ query: { tag, status, pattern, cursor, limit = 50 }, parts: { troupe } }): Promise<RunPage> {
    const { items, next } = await troupe.runs({
      limit,
      ...(status === undefined || status.length === 0 ? undefined : { status }),
      ...(pattern === undefined ? undefined : { pattern }),
      ...(tag === undefined || tag.length === 0 ? undefined : { tags: tag }),
      ...(cursor === undefined ? undefined : { cursor }),
    })
    return { runs: items.map((row) => runItemFrom(troupe, row)), cursor: next, counts: {} }
  },
})

const getRun = defineRoute({
  method: 'GET',
  path: '/api/runs/:run_id',
  summary: 'Get a run.',
  tag: 'runs',
  scope: 'read',
  response: { description: 'The run (`RunItem`).' },
  handle: async ({ params: { run_id = '' }, parts: { troupe } }) => runItemFrom(troupe, await troupe.getRun(run_id)),
})

export const runRoutes = [listRuns, getRun]
