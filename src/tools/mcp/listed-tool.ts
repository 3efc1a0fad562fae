import { z } from 'zod'
import { canonicalJson } from '../../kernel/hash.ts'
import type { JsonSchema } from '../../kernel/schema.ts'
import { withJsonSchema } from '../../kernel/schema.ts'
import type { Tool, ToolCategory } from '../../kernel/tool.ts'
import { mistaken } from '../complaint.ts'
import type { ArgumentCheck } from './argument-check.ts'
import { argumentCheck, readSchema } from './argument-check.ts'
import type { RawResult } from './connect.ts'
import { resultOf } from './result.ts'
import { toolName } from './server-name.ts'

/** What a server says of one of its tools. */
interface Listed {
  name: string
  description: string
  kind: 'read' | 'idempotent' | 'act'
  schema: JsonSchema
}

export interface ToolSite {
  /** The server, as its tools' names have it. */
  server: string
  timeout_ms: number
  /** Only for agents that bring the server along. */
  brought: boolean
  /** Whether it is believed that a tool only reads. */
  trusted: boolean
  only: readonly string[] | undefined
  call(tool: Pick<Listed, 'name' | 'kind'>, args: Record<string, unknown>, signal: AbortSignal): Promise<RawResult>
}

const CATEGORY: Record<Listed['kind'], ToolCategory> = { read: 'perception', idempotent: 'action', act: 'action' }
const MOST_TOOLS = 256
const MOST_WORDS = 4000

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
export async function readTools(
  listed: readonly unknown[],
  site: ToolSite,
): Promise<{ tools: Tool[]; problems: string[] }> {
  const tools = new Map<string, Tool>()
  const problems: string[] = []
  for (const [at, entry] of listed.slice(0, MOST_TOOLS).entries()) {
    try {
      const tool = await readTool(entry, site)
      if (tool && tools.has(tool.name)) throw new Error('it is there twice')
      if (tool) tools.set(tool.name, tool)
    } catch (thrown) {
      const { data } = listedSchema.pick({ name: true }).safeParse(entry)
      problems.push(
        `its tool ${data ? `'${data.name.slice(0, 80)}'` : at + 1} is left out: ${(thrown as Error).message}`,
      )
    }
  }
  if (listed.length > MOST_TOOLS) problems.push(`only ${MOST_TOOLS} of its ${listed.length} tools are used`)
  return { tools: [...tools.values()], problems }
}

async function readTool(entry: unknown, site: ToolSite): Promise<Tool | undefined> {
  const { success, data } = listedSchema.safeParse(entry)
  if (!success) throw new Error('it has no name')
  if (site.only && !site.only.includes(data.name)) return undefined
  const name = toolName(site.server, data.name)
  if (name === undefined) throw new Error('its name is too long, or holds more than letters, digits and _ . : -')
  const kind = kindOf(data.annotations ?? {}, site.trusted)
  const schema = readSchema(data.inputSchema)
  const check = await checkOf(schema)
  const description = (data.description || data.title || data.name).slice(0, MOST_WORDS)
  return toolOf(name, { name: data.name, description, kind, schema }, { ...site, check })
}

interface Hints {
  readOnlyHint?: boolean | undefined
  idempotentHint?: boolean | undefined
  destructiveHint?: boolean | undefined
}

/** A server's word is enough for repeating a call, not for making it without leave: it could say of anything that it reads. */
function kindOf({ readOnlyHint, idempotentHint, destructiveHint }: Hints, trusted: boolean): Listed['kind'] {
  const reads = readOnlyHint === true && !destructiveHint
  if (reads && trusted) return 'read'
  return reads || idempotentHint ? 'idempotent' : 'act'
}

async function checkOf(schema: JsonSchema): Promise<ArgumentCheck> {
  try {
    return await argumentCheck(schema)
  } catch (thrown) {
    throw new Error(`its input schema is no JSON Schema: ${(thrown as Error).message.slice(0, 200)}`)
  }
}

/** Arguments are not made to fit before the call counts: a schema that nobody can fulfil must not end a session. */
function toolOf(name: string, listed: Listed, site: ToolSite & { check: ArgumentCheck }): Tool {
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
    ...(site.brought ? { brought: true as const } : undefined),
    // What was allowed for one call is allowed for exactly this input.
    subject: (args: Record<string, unknown>) => canonicalJson(args),
    async execute(args: Record<string, unknown>, { signal }) {
      const misfit = site.check(args)
      if (misfit !== undefined) {
        throw mistaken(
          `the arguments of ${name} do not fit its schema: ${misfit}`,
          'the server was not called; correct them',
        )
      }
      return resultOf(await site.call(listed, args, signal))
    },
  }
}
