import { teamSchema } from '../../judgement/team/team-schema.ts'
import { attachmentSchema } from '../../kernel/attachment-schema.ts'
import * as z from '../../schema/zod.ts'

const value = z.union([z.number(), z.string(), z.boolean()])

/** Values of variables by name. */
export const variableValues = z.record(z.string(), value).default({})

/** The maximum number of earlier messages in `before`. */
export const MAX_PRIOR_MESSAGES = 100

const attachments = z.array(attachmentSchema).optional()

const priorMessage = z.strictObject({
  from: z.string(),
  text: z.string(),
  artifacts: z.array(z.string()).default([]),
  attachments,
})

export const teamInput = z.strictObject({
  team: teamSchema.describe('The team as data, for example a parsed team file. It is stored with the run.'),
  message: z.string().describe('What the team has to do.'),
  attachments: attachments.describe(
    'Files that the message carries: images, PDF, text. On the command line: --attach FILE.',
  ),
  variables: variableValues.describe('Initial values of variables, instead of those in context_variables.'),
  before: z
    .array(priorMessage)
    .max(MAX_PRIOR_MESSAGES)
    .default([])
    .describe(
      'Earlier messages: of the parent team for a sub-team, or of an earlier run for a conversation that continues.',
    ),
})

export type TeamRunInput = z.output<typeof teamInput>

const historyEntry = z.object({
  step_id: z.string(),
  agent_name: z.string(),
  timestamp: z.string(),
  parts: z.array(z.object({ type: z.literal('text'), text: z.string() })),
  artifacts: z.array(z.string()),
  /** Names of the files that a message of a person carried. */
  attachments: z.array(z.string()).optional(),
  handoff_triggered: z.boolean(),
  handoff_target: z.string().nullable(),
  handoff_reason: z.string().nullable(),
  error: z.string().optional(),
  /** Set when the answer is incomplete. */
  stop_reason: z.string().optional(),
})

export type HistoryEntry = z.output<typeof historyEntry>

export const teamEndReasons = ['terminated', 'returned', 'ended_by_user', 'stopped', 'failed', 'cancelled'] as const
export type TeamEndReason = (typeof teamEndReasons)[number]

export const teamOutput = z.object({
  response: z.string(),
  agent: z.string(),
  status: z.enum(['completed', 'failed', 'cancelled']),
  reason: z.enum(teamEndReasons),
  rounds: z.int(),
  history: z.array(historyEntry),
  variables: z.record(z.string(), value),
  /** `name@version`, oldest first. */
  artifacts: z.array(z.string()),
  handoffs: z.array(
    z.object({
      round: z.int(),
      from: z.string(),
      to: z.string().nullable(),
      by: z.string(),
      handoff_reason: z.string(),
    }),
  ),
  totals: z.object({
    turns: z.int(),
    /** Model requests made only to decide a handoff. */
    router_calls: z.int(),
    /** Input and output tokens of all sessions of the team. */
    tokens: z.int(),
  }),
})

export type TeamOutput = z.output<typeof teamOutput>
export type HandoffRecord = TeamOutput['handoffs'][number]
