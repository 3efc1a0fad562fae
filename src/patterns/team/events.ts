import type { Context } from '../../kernel/context.ts'
import type { DeclaredEvent, EmittedData } from '../../kernel/pattern.ts'
import { steerSchema } from '../../kernel/steer-action.ts'
import * as z from '../../schema/zod.ts'

const round = z.int()
const truth = z.union([z.boolean(), z.literal('unknown')])
const value = z.union([z.number(), z.string(), z.boolean()])

/** The decider of a handoff. */
const handoffSource = z.enum(['exact', 'verdict', 'model', 'after_work', 'person', 'supervisor'])
export type HandoffSource = z.output<typeof handoffSource>

/** Explanation of a handoff: every rule that was evaluated, with the value and reason of each part. */
const handoffTrace = z.strictObject({
  /** `to` is null if the team ends. */
  decision: z.strictObject({ to: z.string().nullable(), by: handoffSource }),
  rules: z.array(
    z.strictObject({
      from: z.string(),
      to: z.string(),
      priority: z.number(),
      holds: truth,
      parts: z.array(
        z.strictObject({ text: z.string(), kind: z.enum(['exact', 'semantic']), value: truth, reason: z.string() }),
      ),
    }),
  ),
})
export type HandoffTrace = z.output<typeof handoffTrace>

const filledRole = z.strictObject({
  name: z.string(),
  uses: z.string(),
  method: z.enum(['embeddings', 'words']),
  by: z.array(z.string()),
  similarity: z.number().optional(),
})

/** Events of a team. */
export const teamEvents = {
  'team:start': z.strictObject({
    team: z.string(),
    agents: z.int(),
    first: z.string(),
    /** Agents chosen for open roles: by embeddings, with the similarity, or by words, with the role terms that matched. */
    filled_roles: z.array(filledRole).optional(),
    /** Warnings of `troupe team check`. */
    warnings: z.array(z.string()).optional(),
  }),
  'team:turn': z.strictObject({ round, agent: z.string() }),
  /** A message of the conversation. Its text is here if neither the session nor the gate of its turn has it. */
  'team:message': z.strictObject({
    round,
    from: z.string(),
    text: z.string().optional(),
    artifacts: z.array(z.string()).optional(),
    error: z.string().optional(),
    stop_reason: z.string().optional(),
    person: z.literal(true).optional(),
    /** Replaces the messages at these places. */
    replaces: z.array(z.int()).optional(),
    summary: z.string().optional(),
    decisions: z.array(z.string()).optional(),
  }),
  'team:handoff': z.strictObject({
    round,
    from: z.string(),
    to: z.string().nullable(),
    by: handoffSource,
    handoff_reason: z.string(),
    explanation: handoffTrace,
    /** The agent's own suggestion, without effect on the decision. */
    suggested: z.string().optional(),
    /** Invalid parts of the agent's response, such as wrong types or unknown names. */
    problems: z.array(z.string()).optional(),
    /** The variables that this turn set. */
    variables: z.record(z.string(), value).optional(),
    /** A group's agreed text, which is in no session. */
    agreed: z.string().optional(),
    /** Errors of sub-teams and groups that failed as a whole, which are in no session. */
    failed: z.array(z.strictObject({ member: z.string(), error: z.string() })).optional(),
  }),
  'team:group': z.strictObject({
    round,
    group: z.string(),
    kind: z.enum(['parallel', 'consensus']),
    members: z.array(z.string()),
  }),
  'team:steered': z.strictObject({
    round,
    action: steerSchema,
    by: z.string(),
    accepted: z.boolean(),
    reason: z.string().optional(),
  }),
  'team:loop': z.strictObject({
    round,
    kind: z.string(),
    message: z.string(),
    from: z.string(),
    to: z.string(),
  }),
  'team:compress': z.strictObject({
    round,
    before: z.number(),
    after: z.number(),
    messages: z.int(),
    error: z.string().optional(),
  }),
  'team:complete': z.strictObject({ rounds: z.int(), agent: z.string(), reason: z.string() }),
}

export type TeamContext = Context<EmittedData<typeof teamEvents>>
export type TeamEvent = DeclaredEvent<typeof teamEvents>
/** One event of a team, by type. */
export type TeamEventOf<T extends TeamEvent['type']> = Extract<TeamEvent, { type: T }>
