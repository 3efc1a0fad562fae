import * as z from '../../schema/zod.ts'

/*
 * What architect, developers and reviewer pass to each other: the contracts of the specification, with acceptance criteria, earlier
 * attempts, a self review and required changes. Every input and output is validated against them before it is recorded and before it is
 * used. Answers of models are read leniently first (`requests/read-answer.ts`).
 */

export const priorities = ['high', 'medium', 'low'] as const
export const findingSeverities = ['critical', 'major', 'minor', 'suggestion'] as const
export const findingCategories = ['bug', 'security', 'performance', 'style', 'logic'] as const
export const focusAreas = ['security', 'performance', 'style', 'logic'] as const
export const verdicts = ['approved', 'changes_requested', 'rejected'] as const
export const developerStatuses = ['completed', 'partial', 'failed'] as const
export const changePriorities = ['must_fix', 'should_fix', 'consider'] as const
export const escalations = ['abort', 'force_approve', 'human_review'] as const
export const failureDecisions = ['retry', 'reassign', 'abort'] as const

/** A dependency: a failed `hard` one stops the task, a `soft` one (its scope overlaps) only comes first. */
export const taskDependency = z.strictObject({ task_id: z.string(), kind: z.enum(['hard', 'soft']) })

export const plannedTask = z.strictObject({
  task_id: z.string().min(1),
  title: z.string().min(1),
  description: z.string(),
  priority: z.enum(priorities),
  dependencies: z.array(taskDependency),
  /** Globs of the files that the task may create, change or delete. */
  scope: z.array(z.string()),
  acceptance_criteria: z.array(z.string()),
  specs: z.array(z.string()),
  reference_files: z.array(z.string()),
  testing_required: z.boolean(),
  /** The agent that does it. */
  agent: z.string(),
})
export type PlannedTask = z.output<typeof plannedTask>

export const buildPlan = z.strictObject({
  summary: z.string(),
  tasks: z.array(plannedTask),
  /** Why the request needs no change; only without tasks. */
  no_change_reason: z.string().nullable(),
  /** Whether all tests have to pass at the end; `null` leaves it to the baseline. */
  tests_must_pass: z.boolean().nullable(),
  /** Whether the request itself removes or switches off tests; otherwise that counts as weakening them. */
  removes_tests: z.boolean(),
})
export type BuildPlan = z.output<typeof buildPlan>

export const fileChanges = z.strictObject({
  files_created: z.array(z.string()),
  files_modified: z.array(z.string()),
  files_deleted: z.array(z.string()),
})
export type FileChanges = z.output<typeof fileChanges>

export const requiredChange = z.strictObject({
  priority: z.enum(changePriorities),
  description: z.string(),
  file: z.string().optional(),
  line: z.int().optional(),
  /** The finding it comes from. */
  finding_id: z.string().optional(),
})
export type RequiredChange = z.output<typeof requiredChange>

export const previousAttempt = z.strictObject({
  attempt: z.int(),
  agent: z.string(),
  status: z.enum(developerStatuses),
  summary: z.string(),
  problems: z.array(z.string()),
})
export type PreviousAttempt = z.output<typeof previousAttempt>

export const developerInput = z.strictObject({
  task_id: z.string(),
  task_description: z.string(),
  context: z.strictObject({ specs: z.array(z.string()), reference_files: z.array(z.string()) }),
  constraints: z.strictObject({
    scope: z.array(z.string()),
    testing_required: z.boolean(),
    style_guide: z.string().optional(),
  }),
  acceptance_criteria: z.array(z.string()),
  previous_attempts: z.array(previousAttempt),
  required_changes: z.array(requiredChange),
})
export type DeveloperInput = z.output<typeof developerInput>

export const selfReview = z.strictObject({
  criteria: z.array(z.strictObject({ criterion: z.string(), met: z.boolean().nullable(), evidence: z.string() })),
  concerns: z.array(z.string()),
})
export type SelfReview = z.output<typeof selfReview>

export const developerOutput = z.strictObject({
  task_id: z.string(),
  status: z.enum(developerStatuses),
  /** What git found in the worktree, whatever the developer claims. */
  changes: fileChanges,
  summary: z.string(),
  notes: z.string().optional(),
  blockers: z.array(z.string()).optional(),
  self_review: selfReview.optional(),
})
export type DeveloperOutput = z.output<typeof developerOutput>

export const reviewerInput = z.strictObject({
  task_id: z.string(),
  review_scope: z.strictObject({ files: z.array(z.string()), focus_areas: z.array(z.enum(focusAreas)).optional() }),
  criteria: z.strictObject({
    must_pass_tests: z.boolean(),
    must_pass_type_check: z.boolean(),
    custom_checks: z.array(z.string()).optional(),
  }),
  acceptance_criteria: z.array(z.string()),
})
export type ReviewerInput = z.output<typeof reviewerInput>

export const reviewFinding = z.strictObject({
  finding_id: z.string(),
  severity: z.enum(findingSeverities),
  category: z.enum(findingCategories),
  file: z.string(),
  line: z.int().optional(),
  description: z.string(),
  suggestion: z.string().optional(),
})
export type ReviewFinding = z.output<typeof reviewFinding>

export const reviewerOutput = z.strictObject({
  task_id: z.string(),
  verdict: z.enum(verdicts),
  findings: z.array(reviewFinding),
  /** From the checks that Troupe ran, whatever the reviewer claims. */
  verification: z.strictObject({
    tests_passed: z.boolean(),
    type_check_passed: z.boolean(),
    custom_checks: z.record(z.string(), z.boolean()).optional(),
  }),
  required_changes: z.array(requiredChange),
  summary: z.string(),
})
export type ReviewerOutput = z.output<typeof reviewerOutput>

/** Validates a value on both ends of a contract; a value that does not match is a defect of the code, not of a model. */
export function checkContract<S extends z.ZodType>(schema: S, value: z.input<S>): z.output<S> {
  return schema.parse(value)
}
