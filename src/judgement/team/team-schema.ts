import * as z from '../../schema/zod.ts'
import { variableTypeNames } from '../condition/system-variables.ts'

/* The schema of a team file. `validateTeam` checks what a schema cannot: references, conditions and the flow. */

/** Reserved names: no agent or group may use them. */
export const ANY_AGENT = 'any_agent'
export const PREVIOUS_AGENT = 'previous_agent'
export const USER = 'user'
/** The author of summaries of older messages. */
export const TEAM = 'team'
export const reservedNames = [ANY_AGENT, PREVIOUS_AGENT, USER, TEAM] as const

/** Conditions contain agent names (`writer_load`, `writer complete`), so a name is one word. */
export const AGENT_NAME_PATTERN = /^[\p{L}\p{N}_][\p{L}\p{N}_-]*$/u
/** A variable is one word of a condition and not a number. */
export const VARIABLE_NAME_PATTERN = /^[\p{L}_][\p{L}\p{N}_]*$/u

const name = z.string().max(64).regex(AGENT_NAME_PATTERN, 'not a valid name: use letters, digits, - and _')
const variable = z
  .string()
  .max(64)
  .regex(VARIABLE_NAME_PATTERN, 'not a valid variable name: use letters, digits and _, and no digit first')
const text = z.string().min(1)

const agentKinds = ['agent', 'human'] as const

const agentSchema = z.strictObject({
  name: name.describe('The name used in handoffs.'),
  kind: z.enum(agentKinds).default('agent').describe('`human`: a handoff to it asks a person.'),
  role: text.optional().describe('Its responsibility in one line.'),
  description: text.optional().describe('When to hand off to it; shown to the other agents.'),
  instructions: text.optional().describe('The system prompt.'),
  model: text.optional().describe('`provider/model`, or a role such as fast, general, reasoning.'),
  temperature: z.number().min(0).max(2).optional(),
  tools: z.array(text).optional().describe('The tools of the agent. Default: the tools of the run.'),
  exclude_tools: z.array(text).optional().describe('Tools to remove from its list.'),
  uses: text.optional().describe('The name of a roster agent to use here.'),
  expertise: z.array(text).optional().describe('Its special knowledge.'),
  outputs: z
    .record(variable, z.enum(variableTypeNames))
    .optional()
    .describe('The variables it sets with its answer, with their types.'),
  get team() {
    return z
      .union([text, teamSchema], 'Invalid input: expected the path of a team file, or a team')
      .optional()
      .describe('A sub-team instead of an agent: the path of its file, relative to this file, or an inline team.')
  },
})

const handoffSchema = z.strictObject({
  from_agent: text.describe('An agent, a group, `any_agent`, or `user` for messages of the user.'),
  to_agent: text.describe('An agent, a group, `previous_agent`, or `user`.'),
  condition: text
    .optional()
    .describe('When to hand off: `draft is complete and word_count >= {{ min_words }}`. Default: always.'),
  priority: z.int().min(0).default(1).describe('Higher priorities are tried first; ties in file order.'),
  approve: z.boolean().default(false).describe('Require approval by a person.'),
})

export const groupKinds = ['parallel', 'consensus'] as const
export const groupSyntheses = ['coordinator', 'vote', 'merge', 'best_of'] as const

const groupSchema = z.strictObject({
  name: name.describe('The name used in handoffs, like that of an agent.'),
  kind: z
    .enum(groupKinds)
    .describe('`parallel`: all members work at the same time. `consensus`: their answers are combined into one.'),
  members: z.array(text).min(1).describe('Agents of this team.'),
  // biome-ignore lint/suspicious/noThenProperty: the key of the specification; its value is text and never awaited
  then: text
    .optional()
    .describe('The next agent or group when all members are done and no handoff of the group applies.'),
  synthesis: z.enum(groupSyntheses).optional().describe('How to combine the answers (consensus).'),
  threshold: z.number().min(0).max(1).optional().describe('The agreement required for consensus.'),
  weights: z.record(text, z.number().nonnegative()).optional().describe('The vote weight of each member. Default: 1.'),
})

const limitsSchema = z.strictObject({
  max_rounds: z.int().positive().default(50).describe('Maximum turns before a person is asked.'),
  max_repeats_per_edge: z.int().positive().default(3).describe('Maximum handoffs from one agent to the same other.'),
  max_parallel: z.int().positive().default(3).describe('Maximum members of a group that work at the same time.'),
  ping_pong: z
    .int()
    .min(2)
    .default(4)
    .describe('Maximum handoffs back and forth between two agents without a new result.'),
  context_tokens: z.int().positive().optional().describe('Maximum tokens of shared history for an agent.'),
})

const formSchema = z.strictObject({
  roles: z
    .array(z.strictObject({ name, role: text, expertise: z.array(text).optional() }))
    .min(1)
    .describe('Roles for which the best matching roster agents are selected when the team starts.'),
  max_agents: z.int().positive().default(5).describe('Maximum agents to select.'),
})

export const afterWorkBehaviors = ['return_to_user', 'terminate', 'continue'] as const

export const teamSchema = z.strictObject({
  name: text.describe('The name of the team.'),
  description: text.optional().describe('The purpose of the team.'),
  agents: z.array(agentSchema).default([]).describe('The agents; at least one, unless `form` selects them.'),
  entry: text.optional().describe('The agent or group that starts. Default: the first agent.'),
  handoffs: z.array(handoffSchema).default([]).describe('The handoff rules.'),
  groups: z.array(groupSchema).default([]).describe('Agents that work at the same time.'),
  context_variables: z
    .record(
      variable,
      z.union([z.number(), z.string(), z.boolean()], 'Invalid input: expected number, string or boolean'),
    )
    .default({})
    .describe('Initial values of variables for conditions.'),
  after_work_behavior: z
    .enum(afterWorkBehaviors)
    .default('return_to_user')
    .describe('What to do when no handoff applies.'),
  share_instructions: z
    .boolean()
    .optional()
    .describe(
      'All agents read the instructions of all, so that a prompt cache serves nearly all of each request. Default: for up to 10 agents ' +
        'with long instructions, the same model and the same tools. false: only their own, for instructions that others must not know.',
    ),
  limits: limitsSchema.prefault({}).describe('Limits of the team.'),
  supervisor: text.optional().describe('The agent, usually a human one, to ask when the team is stuck.'),
  form: formSchema.optional().describe('Selects agents from the roster when the team starts.'),
})

/** A team with all defaults. Sub-team paths are replaced by teams when `readTeamFile` reads them. */
export type Team = z.output<typeof teamSchema>
/** A team as people write it. */
export type TeamInput = z.input<typeof teamSchema>
export type TeamAgent = Team['agents'][number]
export type TeamGroup = Team['groups'][number]

/** The keys that the schema allows at a field. */
export function allowedKeysAt(field: readonly (string | number)[]): string[] {
  const own = field.slice(field.lastIndexOf('team') + 1).filter((part) => typeof part === 'string')
  const shapes: Readonly<Record<string, object>> = {
    '': teamSchema.shape,
    agents: agentSchema.shape,
    handoffs: handoffSchema.shape,
    groups: groupSchema.shape,
    limits: limitsSchema.shape,
    form: formSchema.shape,
    'form.roles': formSchema.shape.roles.element.shape,
  }
  return Object.keys(shapes[own.join('.')] ?? {})
}

/** The JSON Schema of team files, for editors. */
export function teamJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(teamSchema, { io: 'input' })
  return { $schema, title: 'Troupe team', description: 'A team of agents and their handoffs.', ...schema }
}
