import type { RunHandle, RunRow, SteerAction, Troupe } from '../../../index.ts'
import * as z from '../../../schema/zod.ts'
import { refuse } from '../checks/refusal.ts'
import type { HttpParts } from '../http-parts.ts'
import { answeredGate, runId, runItem } from '../openapi/response-schemas.ts'
import { defineRoute } from './route.ts'
import { runItemFrom } from './run-item.ts'
import { leaveRunning, requireExecution, startPattern } from './start-pattern.ts'

/*
 * Commands to runs. They are recorded in the name of the caller, never in one that the request gives. A request chooses no model, path,
 * command, server, workspace or limit.
 */

const MAX_TAGS = 50

const tags = z.array(z.string().min(1).max(200)).max(MAX_TAGS).optional()
export const startBody = z.strictObject({ input: z.unknown(), tags })

const startRun = defineRoute('POST', '/api/patterns/:pattern/runs', {
  summary: 'Start a run of a pattern.',
  tag: 'runs',
  scope: 'run',
  body: startBody,
  response: { description: 'The id of the new run: `{ run_id }`.', schema: runId },
  async handle({ params: { pattern: name = '' }, body: { input, tags }, parts }) {
    return startedRun(parts, await startPattern(parts, { pattern: name, input, tags }))
  },
})

const cancelRun = defineRoute('POST', '/api/runs/:run_id/cancel', {
  summary: 'Cancel a run. Its journal is kept.',
  tag: 'runs',
  scope: 'run',
  body: z.strictObject({ reason: z.string().max(2000).optional() }),
  response: { description: 'The run (`RunItem`).', schema: runItem },
  async handle({ params: { run_id = '' }, body: { reason }, principal, parts: { troupe } }) {
    await troupe.cancel(run_id, reason, { by: principal.name })
    return runItemFrom(troupe, await troupe.getRun(run_id))
  },
})

const resumeRun = defineRoute('POST', '/api/runs/:run_id/resume', {
  summary: 'Resume a run that was interrupted or failed.',
  tag: 'runs',
  scope: 'run',
  body: z.strictObject({ force: z.boolean().optional() }),
  response: { description: 'The run (`RunItem`).', schema: runItem },
  async handle({ params: { run_id = '' }, body: { force = false }, parts }) {
    requireExecution(parts)
    const { troupe } = parts
    const row = await troupe.getRun(run_id)
    const { incomplete } = await troupe.result(run_id)
    if ((row.status === 'completed' && !incomplete) || row.status === 'cancelled')
      throw refuse(409, { code: 'run_ended', message: `the run has ended (${row.status})`, hint: 'fork it instead' })
    if (troupe.isRunning(row)) throw refuse(409, { code: 'run_busy', message: 'a process executes the run already' })
    await requireParts(troupe, row)
    const handle = await troupe.resume(run_id, { force })
    leaveRunning(parts, handle)
    await rejectionWithin(RESUME_CHECK_MS, handle)
    return runItemFrom(troupe, await troupe.getRun(run_id))
  },
})

const forkRun = defineRoute('POST', '/api/runs/:run_id/fork', {
  summary: 'Start a new run that continues from an event of this one.',
  tag: 'runs',
  scope: 'run',
  body: z.strictObject({ seq: z.int().min(1) }),
  response: { description: 'The id of the new run: `{ run_id }`.', schema: runId },
  async handle({ params: { run_id = '' }, body: { seq }, parts }) {
    requireExecution(parts)
    await requireParts(parts.troupe, await parts.troupe.getRun(run_id))
    return startedRun(parts, await parts.troupe.fork(run_id, seq))
  },
})

const steerRun = defineRoute('POST', '/api/runs/:run_id/steer', {
  summary: 'Steer a run: pause, step, continue, override the next agent, set a variable, or say something.',
  tag: 'runs',
  scope: 'run',
  body: z.looseObject({ do: z.enum(['pause', 'step', 'continue', 'override', 'set', 'say']) }),
  response: {
    description: 'The question that the action answered, if any: `{ answered_gate }`.',
    schema: answeredGate,
  },
  async handle({ params: { run_id = '' }, body, principal, parts }) {
    const mayAnswer = () => principal.scopes.includes('approve')
    const how = { by: principal.name, resume: parts.executes, mayAnswer }
    // The library checks the rest of the action.
    const handle = await parts.troupe.steer(run_id, body as SteerAction, how)
    leaveRunning(parts, handle)
    return { answered_gate: handle.answered_gate ?? null }
  },
})

function startedRun(parts: HttpParts, handle: RunHandle): { run_id: string } {
  leaveRunning(parts, handle)
  return { run_id: handle.run_id }
}

/** Time in which it shows whether a run can be resumed at all. */
const RESUME_CHECK_MS = 200

async function rejectionWithin(ms: number, { result }: RunHandle): Promise<void> {
  await Promise.race([result, new Promise((resolve) => setTimeout(resolve, ms).unref())])
}

async function requireParts(troupe: Troupe, { run_id }: RunRow): Promise<void> {
  const { missing } = await troupe.checkNeeds(run_id)
  if (missing.length === 0) return
  const names = missing.map(({ kind, name }) => `${kind} ${name}`).join(', ')
  throw refuse(409, { code: 'needs_missing', message: `this server lacks what the run needs: ${names}` })
}

export const commandRoutes = [startRun, cancelRun, resumeRun, forkRun, steerRun]
