import { z } from 'zod'
import { variableTypeNames } from '../condition/system-variables.ts'

/*
 * A team as data: what a person writes down, and what the pattern `team` takes. How its parts fit together (names that
 * exist, conditions that parse) is checked in `parts.ts` and `rules.ts`; a schema alone cannot say it.
 */

/** Names that Troupe uses beside those of agents and groups; nobody can be called like this. */
export const ANY_AGENT = 'any_agent'
export const PREVIOUS_AGENT = 'previous_agent'
export const USER = 'user'
/** Who signs what stands for older messages. */
export const TEAM = 'team'
export const reservedNames = [ANY_AGENT, PREVIOUS_AGENT, USER, TEAM] as const

/** Conditions speak of agents (`writer_load`, `writer complete`), so their names have to be words. */
export const AGENT_NAME_PATTERN = /^[\p{L}\p{N}_][\p{L}\p{N}_-]*$/u
/** A variable has to be one word of a condition, and no number. */
export const VARIABLE_NAME_PATTERN = /^[\p{L}_][\p{L}\p{N}_]*$/u

const name = z.string().max(64).regex(AGENT_NAME_PATTERN, 'is no name: letters, digits, - and _')
const variable = z
  .string()
  .max(64)
  .regex(VARIABLE_NAME_PATTERN, 'is no variable name: letters, digits and _, no digit first')
const text = z.string().min(1)

const agentKinds = ['agent', 'human'] as const

const agentSchema = z.strictObject({
  name: name.describe('What handoffs call it.'),
  kind: z.enum(agentKinds).default('agent').describe('`human`: a handoff to it asks a person.'),
  role: text.optional().describe('What it is responsible for, in a line.'),
  description: text.optional().describe('When it is the right one; shown to the others.'),
  instructions: text.optional().describe('Its system prompt.'),
  model: text.optional().describe('`provider/model`, or a role such as fast, general, reasoning.'),
  temperature: z.number().min(0).max(2).optional(),
  tools: z.array(text).optional().describe('The tools it has; absent means those of the run.'),
  exclude_tools: z.array(text).optional().describe('Taken away from what it would otherwise have.'),
  uses: text.optional().describe('An agent of the roster that fills this place.'),
  expertise: z.array(text).optional().describe('What it knows more of than the others.'),
  outputs: z
    .record(variable, z.enum(variableTypeNames))
    .optional()
    .describe('The variables it sets with its answer, and their types.'),
  get team() {
    return z
      .union([text, teamSchema])
      .optional()
      .describe('A whole team in this place: the path of its file, seen from this file, or the team itself.')
  },
})

const handoffSchema = z.strictObject({
  from_agent: text.describe('An agent, a group, `any_agent`, or `user` for messages of the user.'),
  to_agent: text.describe('An agent, a group, `previous_agent`, or `user`.'),
  condition: text
    .optional()
    .describe('When to hand over: `draft is complete and word_count >= {{ min_words }}`. Absent means always.'),
  priority: z.int().min(0).default(1).describe('The higher comes first; ties go by the order of the file.'),
  approve: z.boolean().default(false).describe('A person has to approve it first.'),
})

export const groupKinds = ['parallel', 'consensus'] as const
export const groupSyntheses = ['coordinator', 'vote', 'merge', 'best_of'] as const

const groupSchema = z.strictObject({
  name: name.describe('A group stands where an agent stands.'),
  kind: z.enum(groupKinds).describe('`parallel`: all work at once. `consensus`: their answers become one.'),
  members: z.array(text).min(1).describe('Agents of this team.'),
  // biome-ignore lint/suspicious/noThenProperty: the key of the specification; its value is text and never awaited
  then: text.optional().describe('Who comes when all are done, unless a handoff of the group says otherwise.'),
  synthesis: z.enum(groupSyntheses).optional().describe('How answers become one (consensus).'),
  threshold: z.number().min(0).max(1).optional().describe('The agreement that counts as consensus.'),
  weights: z.record(text, z.number().nonnegative()).optional().describe("How much a member's voice counts; else 1."),
})

const limitsSchema = z.strictObject({
  max_rounds: z.int().positive().default(50).describe('Turns of agents until a person has a say.'),
  max_repeats_per_edge: z.int().positive().default(3).describe('How often one may hand to the same other.'),
  max_parallel: z.int().positive().default(3).describe('Members of a group that work at once.'),
  ping_pong: z.int().min(2).default(4).describe('Handoffs to and fro between two without anything new.'),
  context_tokens: z.int().positive().optional().describe('The most tokens of shared history that an agent sees.'),
})

const formSchema = z.strictObject({
  roles: z
    .array(z.strictObject({ name, role: text, expertise: z.array(text).optional() }))
    .min(1)
    .describe('Places that the best fitting agents of the roster fill when the team starts.'),
  max_agents: z.int().positive().default(5).describe('How many may join in this way.'),
})

export const afterWorkBehaviors = ['return_to_user', 'terminate', 'continue'] as const

export const teamSchema = z.strictObject({
  name: text.describe('What the team is called.'),
  description: text.optional().describe('What it is for.'),
  agents: z.array(agentSchema).default([]).describe('Who works in it; at least one, unless `form` finds them.'),
  entry: text.optional().describe('Who begins: an agent or group; absent means the first agent.'),
  handoffs: z.array(handoffSchema).default([]).describe('Who hands to whom, and when.'),
  groups: z.array(groupSchema).default([]).describe('Agents who work at the same time.'),
  context_variables: z
    .record(variable, z.union([z.number(), z.string(), z.boolean()]))
    .default({})
    .describe('Values that conditions can use from the start.'),
  after_work_behavior: z
    .enum(afterWorkBehaviors)
    .default('return_to_user')
    .describe('What happens when no handoff matches.'),
  limits: limitsSchema.prefault({}).describe('Where the team stops.'),
  supervisor: text.optional().describe('The agent, mostly a human one, that is asked when the team is stuck.'),
  form: formSchema.optional().describe('Agents found in the roster when the team starts.'),
})

/** A team with every default filled in. Its sub-teams are teams once `readTeamFile` has read their files. */
export type Team = z.output<typeof teamSchema>
/** A team as people write it. */
export type TeamInput = z.input<typeof teamSchema>
export type TeamAgent = Team['agents'][number]
export type TeamHandoff = Team['handoffs'][number]
export type TeamGroup = Team['groups'][number]
export type TeamLimits = Team['limits']
export type AfterWorkBehavior = Team['after_work_behavior']

/** The keys that the map at this place of a team may have. */
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

/** The JSON Schema by which editors help people write team files. */
export function teamJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(teamSchema, { io: 'input' })
  return { $schema, title: 'Troupe team', description: 'A team of agents, and who hands to whom.', ...schema }
}
