import { z } from 'zod'
import { canonicalJson } from '../../kernel/hash.ts'
import type { JsonSchema } from '../../kernel/schema.ts'
import { withJsonSchema } from '../../kernel/schema.ts'
import type { Tool, ToolCategory } from '../../kernel/tool.ts'
import { invalidCallError } from '../tool-errors.ts'
import type { ArgumentValidator } from './argument-validator.ts'
import { compileArgumentValidator, parseInputSchema } from './argument-validator.ts'
import type { McpToolResult } from './mcp-connection.ts'
import { mcpToolName } from './mcp-name.ts'
import { toolResultFromMcp } from './mcp-result.ts'

/** What a server says of one of its tools. */
interface ListedTool {
  name: string
  description: string
  kind: 'read' | 'idempotent' | 'act'
  schema: JsonSchema
}

export interface McpToolContext {
  /** The server, as its tools' names have it. */
  server: string
  timeout_ms: number
  /** Only for agents that bring the server along. */
  agentProvided: boolean
  /** Whether it is believed that a tool only reads. */
  trusted: boolean
  allowedTools: readonly string[] | undefined
  call(
    tool: Pick<ListedTool, 'name' | 'kind'>,
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<McpToolResult>
}

const CATEGORY: Record<ListedTool['kind'], ToolCategory> = { read: 'perception', idempotent: 'action', act: 'action' }
const MAX_TOOLS = 256
const MAX_DESCRIPTION_CHARS = 4000

const hint = z.boolean().optional().catch(undefined)
const listedSchema = z.looseObject({
  name: z.string(),
  description: z.string().optional().catch(undefined),
  title: z.string().optional().catch(undefined),
  inputSchema: z.unknown(),
  annotations: z
    .looseObject({ readOnlyHint: hint, idempotentHint: hint, destructiveHint: hint })
    .optional()
    .catch(undefined),
})

/** A server's tools as ours, and what is wrong with those that are left out. */
export async function parseMcpTools(
  listed: readonly unknown[],
  site: McpToolContext,
): Promise<{ tools: Tool[]; problems: string[] }> {
  const tools = new Map<string, Tool>()
  const problems: string[] = []
  for (const [at, entry] of listed.slice(0, MAX_TOOLS).entries()) {
    try {
      const tool = await parseMcpTool(entry, site)
      if (tool && tools.has(tool.name)) throw new Error('it is there twice')
      if (tool) tools.set(tool.name, tool)
    } catch (thrown) {
      const { data } = listedSchema.pick({ name: true }).safeParse(entry)
      problems.push(
        `its tool ${data ? `'${data.name.slice(0, 80)}'` : at + 1} is left out: ${(thrown as Error).message}`,
      )
    }
  }
  if (listed.length > MAX_TOOLS) problems.push(`only ${MAX_TOOLS} of its ${listed.length} tools are used`)
  return { tools: [...tools.values()], problems }
}

async function parseMcpTool(entry: unknown, site: McpToolContext): Promise<Tool | undefined> {
  const { success, data } = listedSchema.safeParse(entry)
  if (!success) throw new Error('it has no name')
  if (site.allowedTools && !site.allowedTools.includes(data.name)) return undefined
  const name = mcpToolName(site.server, data.name)
  if (name === undefined) throw new Error('its name is too long, or holds more than letters, digits and _ . : -')
  const kind = toolKind(data.annotations ?? {}, site.trusted)
  const schema = parseInputSchema(data.inputSchema)
  const check = await compileValidator(schema)
  const description = (data.description || data.title || data.name).slice(0, MAX_DESCRIPTION_CHARS)
  return toTool(name, { name: data.name, description, kind, schema }, { ...site, check })
}

interface Hints {
  readOnlyHint?: boolean | undefined
  idempotentHint?: boolean | undefined
  destructiveHint?: boolean | undefined
}

/** A server's word is enough for repeating a call, not for making it without leave: it could say of anything that it reads. */
function toolKind({ readOnlyHint, idempotentHint, destructiveHint }: Hints, trusted: boolean): ListedTool['kind'] {
  const reads = readOnlyHint === true && !destructiveHint
  if (reads && trusted) return 'read'
  return reads || idempotentHint ? 'idempotent' : 'act'
}

async function compileValidator(schema: JsonSchema): Promise<ArgumentValidator> {
  try {
    return await compileArgumentValidator(schema)
  } catch (thrown) {
    throw new Error(`its input schema is no JSON Schema: ${(thrown as Error).message.slice(0, 200)}`)
  }
}

/** Arguments are not made to fit before the call counts: a schema that nobody can fulfil must not end a session. */
function toTool(name: string, listed: ListedTool, site: McpToolContext & { check: ArgumentValidator }): Tool {
  const input = z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((given) => given ?? {})
  return {
    name,
    description: listed.description,
    input: withJsonSchema(input, listed.schema),
    category: CATEGORY[listed.kind],
    kind: listed.kind,
    timeout_ms: site.timeout_ms,
    ...(site.agentProvided ? { agent_provided: true as const } : undefined),
    // What was allowed for one call is allowed for exactly this input.
    subject: (args: Record<string, unknown>) => canonicalJson(args),
    async execute(args: Record<string, unknown>, { signal }) {
      const misfit = site.check(args)
      if (misfit !== undefined) {
        throw invalidCallError(
          `the arguments of ${name} do not fit its schema: ${misfit}`,
          'the server was not called; correct them',
        )
      }
      return toolResultFromMcp(await site.call(listed, args, signal))
    },
  }
}
