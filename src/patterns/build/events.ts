import type { Context } from '../../kernel/context.ts'
import type { DeclaredEvent, EmittedData } from '../../kernel/pattern.ts'
import * as z from '../../schema/zod.ts'
import type { Repository } from '../../tools/git/repository.ts'
import type { CommandRunner } from '../../tools/sandbox/command-runner.ts'
import { buildPlan, developerOutput, fileChanges, reviewerOutput } from './contracts.ts'
import { agentMessage } from './messages.ts'
import { buildStatuses, failureDecision } from './output.ts'
import { checkResult } from './verification/check.ts'

export const phases = ['receive', 'analyse', 'plan', 'delegate', 'collect', 'review', 'iterate', 'complete'] as const
export type Phase = (typeof phases)[number]

const round = { iteration: z.int() }

/** Events of a build. */
export const buildEvents = {
  'build:start': z.strictObject({
    request: z.string(),
    base: z.string(),
    base_branch: z.string().nullable(),
    notes: z.array(z.string()),
  }),
  'build:phase': z.strictObject({ ...round, phase: z.enum(phases) }),
  'build:check': z.strictObject({ ...round, stage: z.enum(['baseline', 'merged']), ...checkResult.shape }),
  'build:plan': z.strictObject({
    ...round,
    plan: buildPlan,
    problems: z.array(z.string()),
    notes: z.array(z.string()),
  }),
  'build:plan_answer': z.strictObject({
    answer: z.enum(['approved', 'declined', 'edited']),
    text: z.string().optional(),
  }),
  'build:task_start': z.strictObject({
    ...round,
    task_id: z.string(),
    attempt: z.int(),
    agent: z.string(),
    session_key: z.string(),
    branch: z.string(),
  }),
  'build:task_end': z.strictObject({ ...round, attempt: z.int(), agent: z.string(), output: developerOutput }),
  'build:scope_violation': z.strictObject({
    ...round,
    task_id: z.string(),
    agent: z.string(),
    files: z.array(z.string()),
    scope: z.array(z.string()),
  }),
  'build:decision': failureDecision,
  'build:merge': z.strictObject({ ...round, task_id: z.string(), head: z.string(), changes: fileChanges }),
  'build:conflict': z.strictObject({ ...round, task_id: z.string(), merge_round: z.int(), files: z.array(z.string()) }),
  'build:review': z.strictObject({
    ...round,
    output: reviewerOutput,
    /** Claims of the reviewer that the checks disprove. */
    overruled: z.array(z.string()),
    weakened_tests: z.array(z.string()),
  }),
  'build:escalation': z.strictObject({
    ...round,
    action: z.enum(['abort', 'force_approve', 'human_review']),
    answer: z.string().optional(),
  }),
  'build:message': agentMessage,
  'build:complete': z.strictObject({
    status: z.enum(buildStatuses),
    branch: z.string().nullable(),
    head: z.string().nullable(),
    iterations: z.int(),
  }),
}

/** With the parts that the rooms of git and of the sandbox provide. */
export type BuildContext = Context<EmittedData<typeof buildEvents>> & {
  readonly repository: Repository | undefined
  readonly commands: CommandRunner | undefined
}
export type BuildEvent = DeclaredEvent<typeof buildEvents>
