import type { AccountKey, AccountRow } from '../../../entries/inspect.ts'
import { loadPrices } from '../../../entries/models.ts'
import { definedFields } from '../../../schema/json-value.ts'
import * as z from '../../../schema/zod.ts'
import { costReportFrom } from '../../../views/cost-report.ts'
import type { CostPage } from '../contract.ts'
import { costPage, reports } from '../openapi/response-schemas.ts'
import { defineRoute, queryNumber } from './route.ts'

const COST_GROUPS = ['run', 'pattern', 'agent', 'model', 'day', 'session', 'phase'] as const satisfies AccountKey[]
const since = queryNumber.optional().describe('Milliseconds since 1970.')

const listReports = defineRoute('GET', '/api/reports', {
  summary: 'Show what patterns measure: how often, how well, how fast, at what cost.',
  tag: 'reports',
  scope: 'read',
  query: z.strictObject({ pattern: z.string().max(64).optional(), by: z.string().max(64).optional(), since }),
  response: { description: 'The figures of each pattern that measures something (`Report[]`).', schema: reports },
  handle: ({ query, parts: { troupe } }) => troupe.reports(definedFields(query)),
})

const getCost = defineRoute('GET', '/api/cost', {
  summary: 'Show usage and cost of a run or of all runs.',
  tag: 'reports',
  scope: 'read',
  query: z.strictObject({ run_id: z.string().max(100).optional(), by: z.enum(COST_GROUPS).optional(), since }),
  response: { description: 'Sums of model requests (`CostPage`).', schema: costPage },
  async handle({ query: { run_id, by, since }, parts: { troupe } }): Promise<CostPage> {
    const rows: AccountRow[] = []
    const { prices = await loadPrices() } = await troupe.timelineSources()
    for await (const row of troupe.accounts({ prices, ...definedFields({ run_id, since }) })) rows.push(row)
    const { groupsBy, total, unpriced_models } = costReportFrom(rows)
    const key = by ?? (run_id === undefined ? 'pattern' : 'agent')
    return { by: key, groups: groupsBy(key).groups, total, unpriced_models }
  },
})

export const reportRoutes = [listReports, getCost]
