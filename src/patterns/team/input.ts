import { z } from 'zod'
import { teamSchema } from '../../judgement/team/team-schema.ts'

const value = z.union([z.number(), z.string(), z.boolean()])

/** How many messages a team can be told that were said before it came in. */
export const MAX_PRIOR_MESSAGES = 100

/** What was said before this team came in: quoted, with its origin. */
const priorMessage = z.strictObject({ from: z.string(), text: z.string(), artifacts: z.array(z.string()).default([]) })

export const teamInput = z.strictObject({
  team: teamSchema.describe('The team, as data: a team file that was read. It is kept with the run.'),
  message: z.string().describe('What the team is asked to do.'),
  variables: z.record(z.string(), value).default({}).describe('Values for variables, instead of the configured ones.'),
  before: z
    .array(priorMessage)
    .max(MAX_PRIOR_MESSAGES)
    .default([])
    .describe('What was said before: by others, to a team within a team; in an earlier run, to one that goes on.'),
})

export type TeamRunInput = z.output<typeof teamInput>

const historyEntry = z.object({
  step_id: z.string(),
  agent_name: z.string(),
  timestamp: z.string(),
  parts: z.array(z.object({ type: z.literal('text'), text: z.string() })),
  artifacts: z.array(z.string()),
  handoff_triggered: z.boolean(),
  handoff_target: z.string().nullable(),
  handoff_reason: z.string().nullable(),
  error: z.string().optional(),
  /** Why the answer ended, where it was cut short. */
  stop_reason: z.string().optional(),
})

export type HistoryEntry = z.output<typeof historyEntry>

export const teamEndReasons = ['terminated', 'returned', 'ended_by_user', 'stopped', 'failed', 'cancelled'] as const
export type TeamEndReason = (typeof teamEndReasons)[number]

export const teamOutput = z.object({
  response: z.string(),
  agent: z.string(),
  status: z.enum(['completed', 'failed', 'cancelled']),
  /** Why it ended: the rules, a return to the team above, a person, or a failure. */
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
    /** Model calls that were made only to decide who goes on. */
    router_calls: z.int(),
    /** In and out, of everyone who worked for the team. */
    tokens: z.int(),
  }),
})

export type TeamOutput = z.output<typeof teamOutput>
export type HandoffRecord = TeamOutput['handoffs'][number]
