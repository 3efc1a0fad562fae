import { canonicalJson } from '../../kernel/hash.ts'
import type { Tool, ToolCategory } from '../../kernel/tool.ts'
import { withJsonSchema } from '../../schema/schema.ts'
import type { JsonSchema } from '../../schema/standard-schema.ts'
import * as z from '../../schema/zod.ts'
import type { Workspace } from '../files/workspace.ts'
import { invalidCallError } from '../tool-errors.ts'
import type { InputSchema } from './input-schema.ts'
import { fillDefaults, parseInputSchema } from './input-schema.ts'
import { limitResult } from './long-result.ts'
import type { McpCall, McpToolResult } from './mcp-connection.ts'
import { toolResultFromMcp } from './mcp-result.ts'
import { mcpToolName } from './mcp-tool-names.ts'

/** A tool as listed by a server. */
interface ListedTool {
  name: string
  description: string
  kind: 'read' | 'idempotent' | 'act'
  schema: InputSchema
}

export interface McpToolContext {
  /** The server key, as used in tool names. */
  server: string
  timeout_ms: number
  max_timeout_ms: number
  /** True when an agent file declares the server: the tools are only for that agent and the agents it calls. */
  agentProvided: boolean
  /** Whether `readOnlyHint` is trusted. */
  trusted: boolean
  allowedTools: readonly string[] | undefined
  /** Keeps long results. */
  workspace: Workspace | undefined
  call(tool: Pick<ListedTool, 'name' | 'kind'>, args: Record<string, unknown>, call: McpCall): Promise<McpToolResult>
}

const CATEGORY: Record<ListedTool['kind'], ToolCategory> = { read: 'perception', idempotent: 'action', act: 'action' }
const MAX_TOOLS = 256
const MAX_DESCRIPTION_CHARS = 4000

const hint = z.boolean().optional().catch(undefined)
const listedSchema = z.looseObject({
  name: z.string(),
  description: z.string().optional().catch(undefined),
  title: z.string().optional().catch(undefined),
  inputSchema: z.unknown().optional(),
  execution: z.looseObject({ taskSupport: z.unknown().optional() }).optional().catch(undefined),
  annotations: z
    .looseObject({ readOnlyHint: hint, idempotentHint: hint, destructiveHint: hint })
    .optional()
    .catch(undefined),
})

/** Converts the tools of a server. Invalid tools are skipped and described in `problems`. */
export async function parseMcpTools(
  listed: readonly unknown[],
  context: McpToolContext,
): Promise<{ tools: Tool[]; problems: string[] }> {
  const tools = new Map<string, Tool>()
  const problems: string[] = []
  for (const [index, entry] of listed.slice(0, MAX_TOOLS).entries()) {
    try {
      const tool = await parseMcpTool(entry, context)
      if (tool && tools.has(tool.name)) throw new Error('its name is listed twice')
      if (tool) tools.set(tool.name, tool)
    } catch (thrown) {
      const { data } = listedSchema.pick({ name: true }).safeParse(entry)
      problems.push(`tool ${data ? `'${data.name.slice(0, 80)}'` : index + 1} is skipped: ${(thrown as Error).message}`)
    }
  }
  if (listed.length > MAX_TOOLS) problems.push(`only ${MAX_TOOLS} of its ${listed.length} tools are used`)
  return { tools: [...tools.values()], problems }
}

async function parseMcpTool(entry: unknown, context: McpToolContext): Promise<Tool | undefined> {
  const { success, data } = listedSchema.safeParse(entry)
  if (!success) throw new Error('it has no `name`')
  if (context.allowedTools && !context.allowedTools.includes(data.name)) return undefined
  const name = mcpToolName(context.server, data.name)
  if (name === undefined)
    throw new Error('its name is too long, or contains characters other than letters, digits and _ . : -')
  if (data.execution?.taskSupport === 'required')
    throw new Error('it runs only as a task (`execution.taskSupport: required`), and tasks are not supported')
  const kind = toolKind(data.annotations ?? {}, context.trusted)
  const schema = parseInputSchema(data.inputSchema)
  const check = await compileValidator(schema.validated)
  const description = (data.description || data.title || data.name).slice(0, MAX_DESCRIPTION_CHARS)
  return toTool(name, { name: data.name, description, kind, schema }, { ...context, check })
}

interface Hints {
  readOnlyHint?: boolean | undefined
  idempotentHint?: boolean | undefined
  destructiveHint?: boolean | undefined
}

/** An untrusted `readOnlyHint` only allows retries: a hostile server could declare any tool as read-only to skip permission. */
function toolKind({ readOnlyHint, idempotentHint, destructiveHint }: Hints, trusted: boolean): ListedTool['kind'] {
  const isReadOnly = readOnlyHint === true && !destructiveHint
  if (isReadOnly && trusted) return 'read'
  return isReadOnly || idempotentHint ? 'idempotent' : 'act'
}

async function compileValidator(schema: JsonSchema): Promise<ArgumentValidator> {
  try {
    return await compileArgumentValidator(schema)
  } catch (thrown) {
    throw new Error(`\`inputSchema\` is not a valid JSON Schema: ${(thrown as Error).message.slice(0, 200)}`)
  }
}

/** Arguments are validated in `execute`, not by `input`: an unsatisfiable schema must not end a session. */
function toTool(name: string, listed: ListedTool, context: McpToolContext & { check: ArgumentValidator }): Tool {
  const input = z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((args) => args ?? {})
  return {
    name,
    description: listed.description,
    input: withJsonSchema(input, listed.schema.shown),
    category: CATEGORY[listed.kind],
    kind: listed.kind,
    timeout_ms: context.timeout_ms,
    max_timeout_ms: context.max_timeout_ms,
    ...(context.agentProvided ? { agent_provided: true as const } : undefined),
    // A permission for one call covers exactly this input.
    subject: (args: Record<string, unknown>) => canonicalJson(args),
    async execute(given: Record<string, unknown>, call) {
      const args = fillDefaults(listed.schema.original, given)
      const problem = context.check(args)
      if (problem !== undefined) {
        throw invalidCallError(
          `the arguments of ${name} do not match its schema: ${problem}`,
          'the server was not called; correct the arguments to match `inputSchema`',
        )
      }
      return limitResult(toolResultFromMcp(await context.call(listed, args, call)), call, context.workspace)
    },
  }
}

/*
 * Validates arguments against the input schema of an MCP server. The schema is untrusted: `pattern` and `format` are removed,
 * because a hostile regular expression could block this process (ReDoS); the server validates them itself.
 */

/** Returns an error message for invalid arguments. */
type ArgumentValidator = (args: unknown) => string | undefined

const MAX_MESSAGE_CHARS = 500

/** Keywords whose value maps names to schemas. */
const SCHEMA_MAP_KEYWORDS = new Set(['properties', '$defs', 'definitions', 'dependentSchemas'])
/** Keywords whose value is data, not a schema. */
const DATA_KEYWORDS = new Set(['const', 'enum', 'default', 'examples', 'required', 'dependentRequired'])
const UNSAFE_KEYWORDS = new Set(['pattern', 'format', 'propertyNames', '$id', 'contentEncoding', 'contentMediaType'])

/** Throws on an invalid JSON Schema. */
async function compileArgumentValidator(schema: JsonSchema): Promise<ArgumentValidator> {
  const { Ajv, AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv')
  const { $schema: _dialect, ...plain } = withoutUnsafeKeywords(schema) as JsonSchema
  // A model provider would reject an invalid schema, and with it every request of the session.
  const ajv = new Ajv({ strict: false, logger: false })
  if (!ajv.validateSchema(plain)) throw new Error(ajv.errorsText(ajv.errors, { dataVar: 'schema' }))
  const validate = new AjvJsonSchemaValidator().getValidator(plain)
  return (args) => {
    const { valid, errorMessage } = validate(args)
    return valid
      ? undefined
      : (errorMessage ?? 'invalid arguments').replaceAll(/\bdata\/?/g, '').slice(0, MAX_MESSAGE_CHARS)
  }
}

function withoutUnsafeKeywords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutUnsafeKeywords)
  if (typeof schema !== 'object' || schema === null) return schema
  const hasPatternProperties = 'patternProperties' in schema
  const safeEntries = Object.entries(schema).filter(
    ([key]) =>
      !UNSAFE_KEYWORDS.has(key) &&
      !(hasPatternProperties && /^(patternProperties|(additional|unevaluated)Properties)$/.test(key)),
  )
  return Object.fromEntries(
    safeEntries.map(([key, value]) => {
      if (DATA_KEYWORDS.has(key)) return [key, value]
      if (SCHEMA_MAP_KEYWORDS.has(key) && typeof value === 'object' && value !== null && !Array.isArray(value)) {
        return [
          key,
          Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutUnsafeKeywords(inner)])),
        ]
      }
      return [key, withoutUnsafeKeywords(value)]
    }),
  )
}
