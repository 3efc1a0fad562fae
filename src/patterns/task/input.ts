import { z } from 'zod'

export const contextScopes = ['conversation', 'agents', 'full'] as const
export type ContextScope = (typeof contextScopes)[number]

const fields = {
  instruction: z.string().describe('What to do, with all that the agent needs to know.'),
  session_id: z.string().optional().describe('Continue this earlier session instead of starting a new one.'),
  context_depth: z
    .enum(['none', 'recent', 'all'])
    .default('none')
    .describe('How much of this conversation the agent sees: nothing, the last turns, or all.'),
  context_turns: z.int().min(1).max(10).default(5).describe('How many turns `recent` means.'),
  context_scope: z
    .enum(contextScopes)
    .default('conversation')
    .describe('What it sees of them: the words, also results of agents, or also results of every tool.'),
  model: z.string().optional().describe('A model or role for this agent instead of its own.'),
  background: z
    .boolean()
    .optional()
    .describe(
      'Return at once with the session_id; collect the result later with task_result. Unless given, as the agent is set up.',
    ),
  cache: z.boolean().default(false).describe('Use an earlier result of exactly this task, if its agent only reads.'),
}

export const taskInput = z.strictObject({
  agent: z.string().optional().describe("An agent's name, or 'self'. Needed to start a new session."),
  ...fields,
})

export type TaskInput = z.output<typeof taskInput>

const finishedOutput = z.object({
  response: z.string(),
  session_id: z.string(),
  agent: z.string(),
  turn_count: z.int(),
  status: z.enum(['completed', 'failed', 'cancelled']),
  stop_reason: z.enum(['completed', 'partial', 'max_turns', 'budget', 'timeout', 'cancelled', 'refused', 'failed']),
  usage: z.object({
    calls: z.int(),
    input: z.int(),
    output: z.int(),
    cache_read: z.int(),
    cache_write: z.int(),
    reasoning: z.int(),
  }),
  cached: z.literal(true).optional(),
})

/** A task answers when it has ended; in the background it answers at once that it runs. */
export const taskOutput = z.union([
  finishedOutput,
  z.strictObject({ session_id: z.string(), agent: z.string().optional(), status: z.literal('running') }),
])

export type TaskOutput = z.output<typeof finishedOutput>

export const taskResultInput = z.strictObject({
  session_id: z.string().describe('The session_id that task returned.'),
  wait: z
    .boolean()
    .default(true)
    .describe('Wait until it has ended; else answer at once, with status running if it works.'),
})

const inputSchemaCache = new Map<string, typeof taskInput>()

/** The input as one caller sees it: the agents of the live roster, by name. Made once per list of names. */
export function taskInputFor(names: readonly string[]): typeof taskInput {
  const list = names.join('\n')
  let schema = inputSchemaCache.get(list)
  if (!schema) {
    const agent = z
      .enum([...names, 'self'])
      .optional()
      .describe('Who does it. Needed to start a new session.')
    schema = z.strictObject({ agent, ...fields }) as unknown as typeof taskInput
    if (inputSchemaCache.size > 100) inputSchemaCache.clear()
    inputSchemaCache.set(list, schema)
  }
  return schema
}
