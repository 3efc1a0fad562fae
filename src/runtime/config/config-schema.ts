import type { JsonSchema } from '../../schema/standard-schema.ts'
import * as z from '../../schema/zod.ts'
import { BUILT_IN_PATTERNS } from '../built-in-patterns.ts'
import type { EngineOptions, ModelOptions, TroupeMcpOptions, TroupeOptions } from '../troupe-options.ts'

/*
 * The keys of configuration files: those of `createTroupe`. JSON and YAML cannot hold functions and objects with methods, so that some
 * keys exist only in TypeScript and JavaScript, where the values are checked by `createTroupe`.
 */

type Fields<T> = Record<keyof T, z.ZodType | 'code'>

const text = z.string().min(1)
const texts = z.array(text)
const modules = texts.describe('Modules that export them, relative to this file.')

const modelSettings = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  seed: z.int().optional(),
  tool_choice: z.union([z.enum(['auto', 'required', 'none']), z.strictObject({ tool: text })]).optional(),
  provider_options: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
})

const blocks = {
  workspace: {
    workspace: text.describe('The folder that the tools of agents are confined to. Default: the folder of this file.'),
    sandbox: z.union([z.literal('none'), z.looseObject({ read: texts.optional(), write: texts.optional() })]),
    network: z.strictObject({ hosts: texts.describe('Hosts that agents may reach.') }),
    protect: texts.describe('Paths that agents may read but not write.'),
    hide: texts.describe('Paths that agents can neither read nor write.'),
    ripgrep: text,
    lsp: 'code',
    world: 'code',
  } satisfies Fields<NonNullable<TroupeOptions['workspace']>>,
  permissions: {
    allow: texts.describe('Calls that need no approval, such as "Bash(npm test:*)".'),
    ask: texts.describe('Calls that a person has to approve.'),
    deny: texts.describe('Calls that are refused.'),
    mode: z.enum(['read', 'ask']).describe('Calls that no rule matches: refuse actions, or ask before them.'),
  } satisfies Fields<NonNullable<TroupeOptions['permissions']>>,
  models: {
    config: z.strictObject({
      model: text.optional(),
      fast: text.optional(),
      general: text.optional(),
      reasoning: text.optional(),
    }),
    summary: text.describe('The model that summarises long conversations.'),
    rateLimits: z.record(z.string(), z.record(z.string(), z.number())),
    settings: z
      .record(z.string(), modelSettings)
      .describe('Settings of all requests to a provider or model, such as { "openai/gpt-5.5": { "top_p": 0.9 } }.'),
    idle_timeout_ms: z
      .int()
      .min(1)
      .describe('Milliseconds without a byte of a response after which the request is sent again. Default: 240000.'),
    custom: 'code',
    prices: 'code',
    resolver: 'code',
  } satisfies Fields<ModelOptions>,
  mcp: {
    servers: z.record(z.string(), z.looseObject({})).describe('MCP servers by name, as in .mcp.json.'),
    unconfined: z.boolean().describe('Runs stdio servers without a sandbox.'),
    exposeEnv: texts.describe('Environment variables that servers in agent files may use.'),
    limits: z.record(z.string(), z.number()),
    sandbox: 'code',
  } satisfies Fields<TroupeMcpOptions>,
  engine: {
    concurrency: z.int().min(1).describe('Runs that execute at once in a process.'),
    strict: z.boolean(),
    world: 'code',
    retryPolicy: 'code',
    create: 'code',
  } satisfies Fields<EngineOptions>,
} as const

type Kind = 'code' | 'data'
type Block = Readonly<Record<string, z.ZodType | 'code'>>

/** A strict object of optional fields. In code only the names are checked here. */
function strictBlock(block: Block, kind: Kind) {
  const fields = Object.entries(block).filter(([, schema]) => kind === 'code' || schema !== 'code')
  return z.strictObject(
    Object.fromEntries(
      fields.map(([name, schema]) => [
        name,
        kind === 'code' || schema === 'code' ? z.unknown().optional() : schema.optional(),
      ]),
    ),
  )
}

/** Settings of patterns are checked by the patterns. */
const patternSettings = (): Record<string, z.ZodType> =>
  Object.fromEntries(Object.keys(BUILT_IN_PATTERNS).map((name) => [name, z.looseObject({})]))

function fieldsOf(kind: Kind) {
  const own = {
    store: text.describe('A folder, a database file, or "memory". Default: the folder .troupe beside this file.'),
    durability: z.enum(['normal', 'full', 'relaxed']).describe('Which steps survive a power failure.'),
    project: text.describe('A namespace: runs of other projects are not visible.'),
    model: text.describe('The model for agents that name none: a role or PROVIDER/MODEL.'),
    agents: z
      .array(z.union([text, z.looseObject({ name: text })]))
      .describe('Agents, and folders or files with agent files; folders replace the default ones.'),
    tools: modules,
    patterns: modules,
    hooks: modules,
    performers: 'code',
    disabledTools: texts.describe('Names of built-in workspace tools that agents do not get.'),
    embedder: z.literal(false).describe('Compares statements as text only.'),
    redact: z.literal(false).describe('Keeps secrets in tool results.'),
    limits: z.record(z.string(), z.number().nullable()).describe('Limits of runs, such as { "usd": 5 }.'),
    retention: z
      .strictObject({ max_age_days: z.number().min(0), keep_failed: z.boolean().optional() })
      .describe('Deletes runs that ended more than this many days ago. Default: nothing is deleted by itself.'),
    cassette: z.record(z.string(), text),
    workspace: strictBlock(blocks.workspace, kind),
    permissions: strictBlock(blocks.permissions, kind),
    models: strictBlock(blocks.models, kind),
    mcp: strictBlock(blocks.mcp, kind),
    engine: strictBlock(blocks.engine, kind),
  } satisfies Fields<Omit<TroupeOptions, 'config' | 'trust' | keyof typeof BUILT_IN_PATTERNS>>
  const lists = ['agents', 'tools', 'patterns', 'hooks', 'disabledTools']
  return Object.entries({ ...patternSettings(), ...own }).flatMap(([name, schema]): [string, z.ZodType][] => {
    if (kind === 'data') return schema === 'code' ? [] : [[name, schema.optional()]]
    if (name in blocks && schema !== 'code') return [[name, schema.optional()]]
    return [[name, lists.includes(name) ? z.array(z.unknown()).optional() : z.unknown().optional()]]
  })
}

/** The schema of a file. Data may name its JSON Schema for editors. */
export function configSchema(kind: Kind) {
  const schemaKey = kind === 'data' ? { $schema: z.string().optional() } : {}
  return z.strictObject({ ...schemaKey, ...Object.fromEntries(fieldsOf(kind)) })
}

/** The names that may stand at this place of a file; empty if they are not known. */
export function knownKeys(kind: Kind, path: readonly PropertyKey[]): string[] {
  if (path.length === 0) return fieldsOf(kind).map(([name]) => name)
  const block: Block | undefined = path.length === 1 ? blocks[path[0] as keyof typeof blocks] : undefined
  return Object.entries(block ?? {}).flatMap(([name, schema]) => (kind === 'code' || schema !== 'code' ? name : []))
}

/** True for a key of `createTroupe` that JSON and YAML cannot express. */
export function isCodeOnly(path: readonly PropertyKey[]): boolean {
  const name = path.at(-1)
  return typeof name === 'string' && knownKeys('code', path.slice(0, -1)).includes(name)
}

/** The JSON Schema of `troupe.config.json` and `troupe.config.yaml`, for editors. */
export async function configJsonSchema(): Promise<JsonSchema> {
  const { loadBuiltInPatterns } = await import('../built-in-patterns.ts')
  const { compileSchema } = await import('../../schema/schema.ts')
  const patterns = await loadBuiltInPatterns()
  const { properties, ...schema } = z.toJSONSchema(configSchema('data'), { io: 'input' }) as {
    properties: Record<string, unknown>
  }
  const settings = patterns.flatMap((pattern): [string, unknown][] => {
    const { name, settings: own } = pattern as { name: string; settings?: Parameters<typeof compileSchema>[0] }
    return [[name, own && compileSchema(own, `\`settings\` of the pattern '${name}'`).jsonSchema]]
  })
  const merged = Object.entries({ ...properties, ...Object.fromEntries(settings) })
  return {
    title: 'Troupe configuration',
    ...schema,
    properties: Object.fromEntries(merged.filter(([, value]) => value !== undefined)),
  } as JsonSchema
}
