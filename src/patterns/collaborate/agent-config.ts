import { TroupeError } from '../../errors.ts'
import { closestName } from '../../judgement/similarity/typo.ts'
import type { Agent, AgentOrigin } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import type { AgentConfig } from './input.ts'

/*
 * What an entry says of its agent in `config`. It is written for other hosts too, so what only they understand is no
 * mistake; what nobody understands is told, and what is nearly one of our keys is refused.
 */

const CONFIG_KEYS: readonly string[] = ['model', 'temperature', 'system_prompt', 'tools', 'providers']
const PROVIDER_KEYS: readonly string[] = ['model', 'temperature']
const FOREIGN_KEYS = ['session', 'source', 'hooks', 'agents', 'module', 'name', 'description', 'context', 'debug']

/** Throws on keys that are surely meant to be others. */
export function checkAgentConfig(whose: string, config: AgentConfig | undefined): void {
  for (const key of unknownKeys(config)) rejectNearMiss(key, CONFIG_KEYS, `config of ${whose}`)
  for (const provider of config?.providers ?? []) {
    for (const key of Object.keys(provider.config ?? {})) {
      if (!PROVIDER_KEYS.includes(key)) rejectNearMiss(key, PROVIDER_KEYS, `config of ${provider.module}, ${whose}`)
    }
  }
}

function rejectNearMiss(key: string, known: readonly string[], where: string): void {
  const meant = closestName(key, known)
  if (meant === undefined) return
  throw new TroupeError('invalid_input', `${where}: no '${key}'; known: ${known.slice(0, 8).join(', ')}`, {
    hint: `did you mean '${meant}'?`,
    alternatives: [meant, ...known.filter((other) => other !== meant)],
  })
}

function unknownKeys(config: AgentConfig | undefined): string[] {
  return Object.keys(config ?? {}).filter((key) => !CONFIG_KEYS.includes(key) && !FOREIGN_KEYS.includes(key))
}

/** By provider: why there is none of its models, where it is named without one. */
export type MissingModels = Readonly<Record<string, string>>

/** Looks for the models of providers that are named without one. Within a step only. */
export async function findMissingModels(
  context: Context,
  configs: readonly (AgentConfig | undefined)[],
): Promise<MissingModels> {
  const lacking: Record<string, string> = {}
  for (const provider of new Set(configs.flatMap((config) => providerWithoutModel(config) ?? []))) {
    const why = await context.modelProblem(generalModel(provider))
    if (why !== undefined) lacking[provider] = why
  }
  return lacking
}

/** The provider of a configuration that names neither a model nor a role. */
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

/** Model and temperature of a configuration as other hosts write it; `source` is kept in the run's input, never fetched. */
export function modelSettings(
  config: AgentConfig | undefined,
  lacking: MissingModels = {},
): { model?: string; temperature?: number } {
  const [provider] = config?.providers ?? []
  const id = provider?.config?.model
  const alone = providerWithoutModel(config)
  const general = alone === undefined || Object.hasOwn(lacking, alone) ? undefined : generalModel(alone)
  const ofProvider = provider && id !== undefined && !id.includes('/') ? `${providerName(provider.module)}/${id}` : id
  const model = config?.model ?? ofProvider ?? general
  const temperature = config?.temperature ?? provider?.config?.temperature
  return {
    ...(model === undefined ? undefined : { model }),
    ...(temperature === undefined ? undefined : { temperature }),
  }
}

/** When a model wrote the call, what it says of a known agent's tools can only narrow them. */
export function applyAgentConfig(base: Agent, config: AgentConfig | undefined, how: AgentConfigContext): Agent {
  const { origin, missingModels } = how
  const agent = { ...base, ...modelSettings(config, missingModels) }
  const named = configuredTools(config)
  if (!named) return agent
  if (origin.by === 'user') return { ...agent, tools: named }
  const { tools } = base
  if (tools) return { ...agent, tools: named.filter((name) => tools.includes(name)) }
  return { ...agent, tools: named, origin }
}

export interface AgentConfigContext {
  origin: AgentOrigin
  missingModels: MissingModels
}

function configuredTools(config: AgentConfig | undefined): string[] | undefined {
  return config?.tools?.map((tool) => (typeof tool === 'string' ? tool : tool.module))
}

/** What of a configuration is not followed, in words; throws on a tool's name that is nearly one. Within a step only. */
export function configWarnings(context: Context, config: AgentConfig | undefined, lacking: MissingModels): string[] {
  const remarks = unknownKeys(config).map((key) => `no '${key}' here`)
  for (const { name, known } of context.unknownTools(configuredTools(config) ?? [])) {
    rejectNearMiss(name, known, 'tools')
    remarks.push(`no tool '${name}'; known: ${known.slice(0, 8).join(', ') || 'none'}`)
  }
  const [first, ...others] = config?.providers ?? []
  if (others.length > 0) remarks.push(`only the first of ${others.length + 1} providers is used`)
  const unused = Object.keys(first?.config ?? {}).filter((key) => !PROVIDER_KEYS.includes(key))
  if (unused.length > 0) remarks.push(`${unused.map((key) => `'${key}'`).join(', ')} of ${first?.module} is not used`)
  const alone = providerWithoutModel(config)
  const why = alone === undefined || !Object.hasOwn(lacking, alone) ? undefined : lacking[alone]
  if (why !== undefined) remarks.push(`${alone} is named without a model, and the run's model is used: ${why}`)
  return remarks
}
