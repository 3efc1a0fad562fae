import type { Pattern } from '../../kernel/pattern.ts'
import { removedNameHint } from '../../schema/removed-names.ts'
import type { JsonSchema } from '../../schema/standard-schema.ts'
import * as z from '../../schema/zod.ts'
import { BUILT_IN_PATTERNS } from '../built-in-patterns.ts'
import type { EngineOptions, ModelOptions, TroupeMcpOptions, TroupeOptions } from '../troupe-options.ts'

/*
 * The values of configuration files in JSON and YAML, which cannot hold functions and objects with methods: some options exist only in
 * TypeScript and JavaScript, where the names are checked by `checkOptionNames` and the values by `createTroupe`.
 */

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

/** A group of options without those that need code. */
function block<Options, NeedsCode extends keyof Options = never>(
  fields: Record<Exclude<keyof Options, NeedsCode>, z.ZodType>,
) {
  return z.strictObject(fields as Record<string, z.ZodType>).partial()
}

const blocks = {
  workspace: block<NonNullable<TroupeOptions['workspace']>, 'lsp' | 'world'>({
    workspace: text.describe('The folder that the tools of agents are confined to. Default: the folder of this file.'),
    sandbox: z.union([z.literal('none'), z.looseObject({ read: texts.optional(), write: texts.optional() })]),
    network: z.strictObject({ hosts: texts.describe('Hosts that agents may reach.') }),
    protect: texts.describe('Paths that agents may read but not write.'),
    hide: texts.describe('Paths that agents can neither read nor write.'),
    ripgrep: z.string(removedNameHint('workspace.ripgrep: false')).min(1),
  }),
  permissions: block<NonNullable<TroupeOptions['permissions']>>({
    allow: texts.describe('Calls that need no approval, such as "Bash(npm test:*)".'),
    ask: texts.describe('Calls that a person has to approve.'),
    deny: texts.describe('Calls that are refused.'),
    mode: z.enum(['read', 'ask']).describe('Calls that no rule matches: refuse actions, or ask before them.'),
  }),
  models: block<ModelOptions, 'custom' | 'prices' | 'resolver'>({
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
  }),
  mcp: block<TroupeMcpOptions, 'sandbox'>({
    servers: z.record(z.string(), z.looseObject({})).describe('MCP servers by name, as in .mcp.json.'),
    unconfined: z.boolean().describe('Runs stdio servers without a sandbox.'),
    exposeEnv: texts.describe('Environment variables that servers in agent files may use.'),
    limits: z.record(z.string(), z.number()),
  }),
  engine: block<EngineOptions, 'world' | 'retryPolicy'>({
    concurrency: z.int().min(1).describe('Runs that execute at once in a process.'),
    strict: z.boolean(),
  }),
}

/** Settings of patterns are checked by the patterns. */
const patternSettings = Object.fromEntries(Object.keys(BUILT_IN_PATTERNS).map((name) => [name, z.looseObject({})]))

/** The schema of a file. It may name its JSON Schema for editors. */
export const configSchema = block<
  Omit<TroupeOptions, 'config' | 'defaultStore' | 'execute' | 'trust' | keyof typeof BUILT_IN_PATTERNS> & {
    $schema: string
  },
  'performers'
>({
  $schema: z.string(),
  ...patternSettings,
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
  disabledTools: texts.describe('Names of built-in workspace tools that agents do not get.'),
  embedder: z.literal(false).describe('Compares statements as text only.'),
  redact: z.literal(false).describe('Keeps secrets in tool results.'),
  limits: z.record(z.string(), z.number().nullable()).describe('Limits of runs, such as { "usd": 5 }.'),
  retention: z
    .strictObject({ max_age_days: z.number().min(0), keep_failed: z.boolean().optional() })
    .describe('Deletes runs that ended more than this many days ago. Default: nothing is deleted by itself.'),
  cassette: z.record(z.string(), text),
  ...blocks,
})

/** The names that may stand at this place of a file; empty if they are not known. */
export function knownKeys([group, ...rest]: readonly PropertyKey[]): string[] {
  const place = group === undefined ? configSchema : blocks[group as keyof typeof blocks]
  return rest.length > 0 ? [] : Object.keys(place?.shape ?? {}).filter((name) => name !== '$schema')
}

/** The JSON Schema of `troupe.config.json` and `troupe.config.yaml`, for editors. */
export async function configJsonSchema(): Promise<JsonSchema> {
  const { loadBuiltInPatterns } = await import('../built-in-patterns.ts')
  const { compileSchema } = await import('../../schema/schema.ts')
  const patterns = await loadBuiltInPatterns()
  const { properties, ...schema } = z.toJSONSchema(configSchema, { io: 'input' }) as {
    properties: Record<string, unknown>
  }
  const settings = patterns.map(async ({ name, settings: own }: Pattern): Promise<[string, unknown]> => {
    const schema = await own?.()
    return [name, schema && compileSchema(schema, `\`settings\` of the pattern '${name}'`).jsonSchema]
  })
  const merged = Object.entries({ ...properties, ...Object.fromEntries(await Promise.all(settings)) })
  return {
    title: 'Troupe configuration',
    ...schema,
    properties: Object.fromEntries(merged.filter(([, value]) => value !== undefined)),
  } as JsonSchema
}
