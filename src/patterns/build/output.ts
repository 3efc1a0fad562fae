import * as z from '../../schema/zod.ts'
import { buildPlan, developerOutput, failureDecisions, fileChanges, reviewerOutput } from './contracts.ts'
import { checkResult } from './verification/check.ts'

export const buildStatuses = ['completed', 'no_change', 'declined', 'not_approved', 'aborted'] as const

export const taskOutcome = z.strictObject({
  task_id: z.string(),
  title: z.string(),
  agent: z.string(),
  status: z.enum(['completed', 'partial', 'failed', 'not_started']),
  attempts: z.int(),
  output: developerOutput.optional(),
})
export type TaskOutcome = z.output<typeof taskOutcome>

export const failureDecision = z.strictObject({
  task_id: z.string(),
  attempt: z.int(),
  decision: z.enum(failureDecisions),
  agent: z.string().optional(),
  instruction: z.string().optional(),
  reason: z.string(),
  /** The architect, or a rule of the pattern. */
  decided_by: z.string(),
})
export type FailureDecision = z.output<typeof failureDecision>

export const buildOutput = z.strictObject({
  status: z.enum(buildStatuses),
  /** The final report of the architect. */
  report: z.string(),
  /** The branch with the result; `null` without one. */
  branch: z.string().nullable(),
  base: z.string(),
  head: z.string().nullable(),
  changes: fileChanges,
  plan: buildPlan.nullable(),
  tasks: z.array(taskOutcome),
  review: reviewerOutput.nullable(),
  /** Rounds of work and review. */
  iterations: z.int(),
  /** Set where a person or `force_approve` accepted work that the review did not approve. */
  approved_by: z.enum(['reviewer', 'person', 'force_approve']).nullable(),
  checks: z.strictObject({ baseline: z.array(checkResult), final: z.array(checkResult) }),
  merge_rounds: z.int(),
  decisions: z.array(failureDecision),
  /** Facts for the person who reads the result: overruled claims, files out of scope, skipped checks. */
  notes: z.array(z.string()),
})
export type BuildOutput = z.output<typeof buildOutput>
