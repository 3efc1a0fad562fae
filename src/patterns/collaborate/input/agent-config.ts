import { TroupeError } from '../../../errors.ts'
import { closestName } from '../../../judgement/similarity/typo.ts'
import type { Agent, AgentOrigin } from '../../../kernel/agent.ts'
import type { Context } from '../../../kernel/context.ts'
import type { AgentConfig } from './input.ts'

/*
 * The `config` of a specialist. The format is shared with other hosts: keys that only they use are accepted, unknown keys are
 * a warning, and likely typos are rejected.
 */

const CONFIG_KEYS: readonly string[] = ['model', 'temperature', 'system_prompt', 'tools', 'providers']
const PROVIDER_KEYS: readonly string[] = ['model', 'temperature']
const UNSUPPORTED_KEYS = ['session', 'source', 'hooks', 'agents', 'module', 'name', 'description', 'context', 'debug']

/** Throws on keys that are likely typos. */
export function checkAgentConfig(owner: string, config: AgentConfig | undefined): void {
  for (const key of unknownKeys(config)) rejectTypo(key, CONFIG_KEYS, `config of ${owner}`)
  for (const provider of config?.providers ?? []) {
    for (const key of Object.keys(provider.config ?? {})) {
      if (!PROVIDER_KEYS.includes(key)) rejectTypo(key, PROVIDER_KEYS, `config of ${provider.module}, ${owner}`)
    }
  }
}

function rejectTypo(key: string, known: readonly string[], where: string): void {
  const closest = closestName(key, known)
  if (closest === undefined) return
  throw new TroupeError('invalid_input', `${where}: unknown '${key}'; known: ${known.slice(0, 8).join(', ')}`, {
    hint: `did you mean '${closest}'?`,
    alternatives: [closest, ...known.filter((other) => other !== closest)],
  })
}

function unknownKeys(config: AgentConfig | undefined): string[] {
  return Object.keys(config ?? {}).filter((key) => !CONFIG_KEYS.includes(key) && !UNSUPPORTED_KEYS.includes(key))
}

/** Errors by provider, for providers that are configured without a model and have no general one. */
export type MissingModels = Readonly<Record<string, string>>

/** Looks up the general model of providers configured without a model. Call it within a step: models can change. */
export async function findMissingModels(
  context: Context,
  configs: readonly (AgentConfig | undefined)[],
): Promise<MissingModels> {
  const missingModels: Record<string, string> = {}
  for (const provider of new Set(configs.flatMap((config) => providerWithoutModel(config) ?? []))) {
    const problem = await context.modelProblem(generalModel(provider), context.caller ? 'model' : 'operator')
    if (problem !== undefined) missingModels[provider] = problem
  }
  return missingModels
}

/** The provider of a configuration without a model or model role. */
function providerWithoutModel(config: AgentConfig | undefined): string | undefined {
  const [provider] = config?.providers ?? []
  if (!provider || config?.model !== undefined || provider.config?.model !== undefined) return undefined
  return providerName(provider.module)
}

function providerName(module: string): string {
  return module.replace(/^provider-/, '')
}

function generalModel(provider: string): string {
  return `${provider}/general`
}

/** Model and temperature of a configuration. `source` stays in the run's input and is never fetched. */
export function modelSettings(
  config: AgentConfig | undefined,
  missingModels: MissingModels = {},
): { model?: string; temperature?: number } {
  const [provider] = config?.providers ?? []
  const id = provider?.config?.model
  const bareProvider = providerWithoutModel(config)
  const hasGeneral = bareProvider !== undefined && !Object.hasOwn(missingModels, bareProvider)
  const providerModel =
    provider && id !== undefined && !id.includes('/') ? `${providerName(provider.module)}/${id}` : id
  const model = config?.model ?? providerModel ?? (hasGeneral ? generalModel(bareProvider) : undefined)
  const temperature = config?.temperature ?? provider?.config?.temperature
  return {
    ...(model === undefined ? undefined : { model }),
    ...(temperature === undefined ? undefined : { temperature }),
  }
}

/** Applies `config` to an agent. A model that wrote the call can only narrow the tools of a known agent. */
export function applyAgentConfig(
  base: Agent,
  config: AgentConfig | undefined,
  { origin, missingModels }: AgentConfigContext,
): Agent {
  const agent = { ...base, ...modelSettings(config, missingModels) }
  const tools = configuredTools(config)
  if (!tools) return agent
  if (origin.by === 'user') return { ...agent, tools }
  const allowed = base.tools
  if (allowed) return { ...agent, tools: tools.filter((name) => allowed.includes(name)) }
  return { ...agent, tools, origin }
}

export interface AgentConfigContext {
  origin: AgentOrigin
  missingModels: MissingModels
}

function configuredTools(config: AgentConfig | undefined): string[] | undefined {
  return config?.tools?.map((tool) => (typeof tool === 'string' ? tool : tool.module))
}

/** Warnings about ignored parts of a configuration; throws on likely typos in tool names. Call it within a step. */
export function configWarnings(
  context: Context,
  config: AgentConfig | undefined,
  missingModels: MissingModels,
): string[] {
  const warnings = unknownKeys(config).map((key) => `unknown '${key}'`)
  for (const { name, known } of context.unknownTools(configuredTools(config) ?? [])) {
    rejectTypo(name, known, 'tools')
    warnings.push(`unknown tool '${name}'; known: ${known.slice(0, 8).join(', ') || 'none'}`)
  }
  const [first, ...others] = config?.providers ?? []
  if (others.length > 0) warnings.push(`only the first of ${others.length + 1} providers is used`)
  const unused = Object.keys(first?.config ?? {}).filter((key) => !PROVIDER_KEYS.includes(key))
  if (unused.length > 0) warnings.push(`${unused.map((key) => `'${key}'`).join(', ')} of ${first?.module} is not used`)
  const bareProvider = providerWithoutModel(config)
  if (bareProvider !== undefined && Object.hasOwn(missingModels, bareProvider))
    warnings.push(`${bareProvider} has no model, so the run's model is used: ${missingModels[bareProvider]}`)
  return warnings
}
