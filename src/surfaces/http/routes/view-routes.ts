import * as z from '../../../schema/zod.ts'
import type { TimelineRef } from '../../../views/timeline/timeline.ts'
import type { Detail, PanelPage, RunSummary } from '../contract.ts'
import { detail, panelPage, runSummaries } from '../openapi/response-schemas.ts'
import { defineRoute, queryList, queryNumber } from './route.ts'

const MAX_SUMMARIES = 100
const seq = queryNumber.optional().describe('The last event that counts; without it, the newest.')

const listSummaries = defineRoute('GET', '/api/runs/summaries', {
  summary: 'Show what only the journals of these runs tell: agents, progress, last event, stalls.',
  tag: 'views',
  scope: 'read',
  query: z.strictObject({ ids: queryList }),
  response: { description: 'A summary of each run that exists (`RunSummary[]`).', schema: runSummaries },
  handle: ({ query: { ids }, parts: { troupe } }): Promise<RunSummary[]> =>
    troupe.runSummaries(ids.slice(0, MAX_SUMMARIES)),
})

const getPanels = defineRoute('GET', '/api/runs/:run_id/panels', {
  summary: 'Show the pages that the pattern of a run brings, now or at an earlier event.',
  tag: 'views',
  scope: 'read',
  query: z.strictObject({ seq }),
  response: { description: 'The panels (`PanelPage`).', schema: panelPage },
  handle: ({ params: { run_id = '' }, query: { seq }, parts: { troupe } }): Promise<PanelPage> =>
    troupe.panels(run_id, seq === undefined ? {} : { seq }),
})

const PLACES = [
  ...(['agent', 'session', 'turn', 'call', 'gate', 'message'] as const),
  ...(['delegation', 'handoff', 'vote', 'event'] as const),
] as const satisfies TimelineRef['kind'][]

const getDetail = defineRoute('GET', '/api/runs/:run_id/detail', {
  summary: 'Show everything about one place of a run, such as a turn or a call.',
  tag: 'views',
  scope: 'read',
  query: z.strictObject({ kind: z.enum(PLACES), id: z.string().max(2000), seq }),
  response: { description: 'The place (`Detail`).', schema: detail },
  handle: ({ params: { run_id = '' }, query: { kind, id, seq }, parts: { troupe } }): Promise<Detail> =>
    troupe.detail(run_id, { kind, id }, seq === undefined ? {} : { seq }),
})

export const viewRoutes = [listSummaries, getPanels, getDetail]
