import type { Agent } from '../../kernel/agent.ts'
import { attachmentSchema } from '../../kernel/attachment-schema.ts'
import { canonicalJson } from '../../kernel/hash.ts'
import { agentList } from '../../requests/agent-summary.ts'
import { modelInputOf, setBy } from '../../schema/input-forms.ts'
import type { Schema, StandardSchema } from '../../schema/standard-schema.ts'
import * as z from '../../schema/zod.ts'
import { toOutputSchema, usesRegularExpression } from './output-schema.ts'

export const contextScopes = ['conversation', 'agents', 'full'] as const
export type ContextScope = (typeof contextScopes)[number]

const depth = z.enum(['none', 'recent', 'all'])
const output = z.preprocess(toOutputSchema, z.record(z.string(), z.unknown())).optional()
const outputField = output.describe(
  'JSON Schema that the answer has to match, of an object; the result has it as `object`.',
)

/** The model is the operator's choice, and regular expressions of strangers can be slow (ReDoS): callers from outside set neither. */
export const taskInput = z.strictObject({
  agent: z
    .string()
    .optional()
    .describe("The name of an agent, or 'self'. The first task of a run defaults to 'default'."),
  instruction: setBy(z.string().describe('What to do, with everything the agent needs to know.'), {
    model: z.string(),
  }),
  session_id: setBy(z.string().optional().describe('Continue this earlier session.'), {
    model: z.string().optional(),
  }),
  context_depth: setBy(depth.default('none').describe('How much of this conversation the agent sees.'), {
    model: depth.optional().describe('How much of this conversation it sees.'),
  }),
  context_turns: z.int().min(1).max(10).default(5).describe('The number of turns that `recent` includes.'),
  context_scope: z
    .enum(contextScopes)
    .default('conversation')
    .describe(
      'Which parts of those turns it sees: messages only, messages and agent results, or all tool results too.',
    ),
  model: setBy(z.string().optional().describe('A model or model role, instead of the one of the agent.'), {
    request: false,
  }),
  background: setBy(z.boolean().optional().describe('Return the session_id at once; task_result gets the result.'), {
    model: true,
  }),
  cache: z
    .boolean()
    .default(false)
    .describe('Reuse the result of an identical earlier task if the agent is read-only.'),
  output: setBy(outputField, {
    request: outputField.refine(
      (schema) => !usesRegularExpression(schema),
      'must not use `pattern` or `patternProperties`: describe the format in `description`',
    ),
    model: output.describe('JSON Schema of the answer.'),
  }),
  attachments: z
    .array(attachmentSchema)
    .optional()
    .describe('Files that the instruction carries: images, PDF, text. On the command line: --attach FILE.'),
})

export type TaskInput = z.output<typeof taskInput>

/** The input of a task as programs pass it. */
export interface TaskRequest extends Omit<z.input<typeof taskInput>, 'output'> {
  /** The final answer has to match this schema: zod, another Standard Schema library with JSON Schema, or JSON Schema. */
  output?: Schema
}

const finishedOutput = z.object({
  response: z.string(),
  /** The answer as an object, if `output` was given. */
  object: z.unknown().optional(),
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
  /** Advice to the agent that delegates, when it had this result before. */
  note: z.string().optional(),
  /** The changes of an agent with a git worktree of its own. */
  worktree: z
    .object({
      branch: z.string(),
      head: z.string(),
      files: z.array(z.object({ path: z.string(), change: z.enum(['created', 'modified', 'deleted', 'renamed']) })),
    })
    .optional(),
})

/** The result of a finished task, or `status: running` for a background task. */
export const taskOutput = z.union([
  finishedOutput,
  z.strictObject({ session_id: z.string(), agent: z.string().optional(), status: z.literal('running') }),
])

export type TaskOutput = z.output<typeof finishedOutput>

/** The schemas with the types for programs: the first task of a run is never in the background. */
export const runSchemas = {
  // For zod, the input of `preprocess` is unknown.
  input: taskInput as unknown as StandardSchema<TaskRequest, TaskInput>,
  // Without `status: running`.
  output: taskOutput as unknown as StandardSchema<TaskOutput>,
}

export const taskResultInput = z.strictObject({
  session_id: z.string(),
  wait: z.boolean().default(true).describe('Wait for its end. If false, status may be running.'),
})

/** The input that models see; see `taskInputFor`. */
export const advertisedTaskResultInput: Schema = taskResultInput.omit({ wait: true })

/** The input that an agent sees, with the agents it may use: names as an enum, descriptions as text. */
export function taskInputFor(agents: readonly Agent[]): Schema {
  const list = agentList(agents)
  const names = agents.map(({ name }) => name)
  return modelInputOf(taskInput, canonicalJson([names, list]), () => ({
    agent: z
      .enum([...names, 'self'])
      .optional()
      .describe(`For a new session:\n${list}\n- self: yourself, without this conversation`),
  }))
}
