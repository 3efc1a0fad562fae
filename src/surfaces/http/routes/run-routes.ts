import { definedFields } from '../../../schema/json-value.ts'
import * as z from '../../../schema/zod.ts'
import { recordedStatus } from '../../../views/result-status.ts'
import { acceptedEncoding, textBody } from '../compression/gzip-response.ts'
import type { EventPage, RunPage } from '../contract.ts'
import { eventPage, runItem, runPage, runResult, sessionFile, status } from '../openapi/response-schemas.ts'
import { attachmentHeaders } from './artifact-routes.ts'
import { defineRoute, queryList, queryNumber } from './route.ts'
import { runItemFrom } from './run-item.ts'

const limit = queryNumber.refine((value) => value >= 1 && value <= 1000, 'not from 1 to 1000').optional()

const listRuns = defineRoute('GET', '/api/runs', {
  summary: 'List runs, newest first.',
  tag: 'runs',
  scope: 'read',
  query: z.strictObject({
    status: queryList.pipe(z.array(status)).optional(),
    pattern: z.string().max(64).optional(),
    tag: queryList.optional(),
    text: z.string().max(500).optional(),
    cursor: z.string().max(2000).optional(),
    limit,
  }),
  response: { description: 'A page of runs (`RunPage`).', schema: runPage },
  async handle({
    query: { tag, status: statuses, pattern, text, cursor, limit = 50 },
    parts: { troupe },
  }): Promise<RunPage> {
    // Fields without a value are those of an empty form.
    const filled = {
      status: statuses?.length ? statuses : undefined,
      tags: tag?.length ? tag : undefined,
      text: text?.trim() ? text : undefined,
    }
    const { items, next } = await troupe.runs(definedFields({ limit, pattern, cursor, ...filled }))
    const counts = await troupe.countRuns()
    return { runs: items.map((row) => runItemFrom(troupe, row)), cursor: next, counts }
  },
})

const getRun = defineRoute('GET', '/api/runs/:run_id', {
  summary: 'Get a run.',
  tag: 'runs',
  scope: 'read',
  response: { description: 'The run (`RunItem`).', schema: runItem },
  handle: async ({ params: { run_id = '' }, parts: { troupe } }) => runItemFrom(troupe, await troupe.getRun(run_id)),
})

const getResult = defineRoute('GET', '/api/runs/:run_id/result', {
  summary: 'Get the status, output, error, usage and open questions of a run.',
  tag: 'runs',
  scope: 'read',
  response: { description: 'The result (`RunResult`).', schema: runResult },
  async handle({ params: { run_id = '' }, parts: { troupe } }) {
    await troupe.getRun(run_id)
    const { gates, ...result } = await troupe.result(run_id)
    return {
      ...result,
      status: recordedStatus(result.status),
      gates: gates.map(({ project: _project, ...gate }) => gate),
    }
  },
})

const listEvents = defineRoute('GET', '/api/runs/:run_id/events', {
  summary: 'Read the journal of a run, page by page; with `accept: text/event-stream` follow it.',
  tag: 'runs',
  scope: 'read',
  query: z.strictObject({ after: queryNumber.optional(), limit, session_id: z.string().max(200).optional() }),
  response: { description: 'A page of events (`EventPage`).', schema: eventPage },
  async handle({ params: { run_id = '' }, query, parts: { troupe } }): Promise<EventPage> {
    const { after = 0, limit = 500, session_id } = query
    const session = session_id === undefined ? undefined : { session_id }
    const { items, next } = await troupe.events(run_id, { after, limit, ...session })
    return { events: items, next: next === null ? null : (items.at(-1)?.seq ?? null) }
  },
})

const exportRun = defineRoute('GET', '/api/runs/:run_id/export', {
  summary: 'Export a run as a session file.',
  tag: 'runs',
  scope: 'read',
  response: { description: 'The session file, as an attachment.', schema: sessionFile },
  async handle({ params: { run_id = '' }, parts: { troupe }, context }) {
    await troupe.getRun(run_id)
    const session = JSON.stringify(await troupe.exportSession(run_id), undefined, 2)
    const { body, headers } = await textBody(session, acceptedEncoding(context))
    return new Response(body, { headers: { ...headers, ...attachmentHeaders(`${run_id}.json`, 'application/json') } })
  },
})

export const runRoutes = [listRuns, getRun, getResult, listEvents, exportRun]
