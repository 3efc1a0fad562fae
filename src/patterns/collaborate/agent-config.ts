import { TroupeError } from '../../errors.ts'
import { meantName } from '../../judgement/typo.ts'
import type { Agent, AgentOrigin } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import type { AgentConfig } from './input.ts'

/*
 * What an entry says of its agent in `config`. It is written for other hosts too, so what only they understand is no
 * mistake; what nobody understands is told, and what is nearly one of our keys is refused.
 */

const KEYS: readonly string[] = ['model', 'temperature', 'system_prompt', 'tools', 'providers']
const PROVIDER_KEYS: readonly string[] = ['model', 'temperature']
const KEYS_OF_OTHERS = ['session', 'source', 'hooks', 'agents', 'module', 'name', 'description', 'context', 'debug']

/** Throws on keys that are surely meant to be others. */
export function checkConfig(whose: string, config: AgentConfig | undefined): void {
  for (const key of unknownKeys(config)) refuseIfNear(key, KEYS, `config of ${whose}`)
  for (const provider of config?.providers ?? []) {
    for (const key of Object.keys(provider.config ?? {})) {
      if (!PROVIDER_KEYS.includes(key)) refuseIfNear(key, PROVIDER_KEYS, `config of ${provider.module}, ${whose}`)
    }
  }
}

function refuseIfNear(key: string, known: readonly string[], where: string): void {
  const meant = meantName(key, known)
  if (meant === undefined) return
  throw new TroupeError('invalid_input', `${where}: no '${key}'; known: ${known.slice(0, 8).join(', ')}`, {
    hint: `did you mean '${meant}'?`,
    alternatives: [meant, ...known.filter((other) => other !== meant)],
  })
}

function unknownKeys(config: AgentConfig | undefined): string[] {
  return Object.keys(config ?? {}).filter((key) => !KEYS.includes(key) && !KEYS_OF_OTHERS.includes(key))
}

/** By provider: why there is none of its models, where it is named without one. */
export type Lacking = Readonly<Record<string, string>>

/** Looks for the models of providers that are named without one. Within a step only. */
export async function lackingModels(context: Context, configs: readonly (AgentConfig | undefined)[]): Promise<Lacking> {
  const lacking: Record<string, string> = {}
  for (const provider of new Set(configs.flatMap((config) => providerAlone(config) ?? []))) {
    const why = await context.modelProblem(generalOf(provider))
    if (why !== undefined) lacking[provider] = why
  }
  return lacking
}

/** The provider of a configuration that names neither a model nor a role. */
function providerAlone(config: AgentConfig | undefined): string | undefined {
  const [provider] = config?.providers ?? []
  if (!provider || config?.model !== undefined || provider.config?.model !== undefined) return undefined
  return familyOf(provider.module)
}

function familyOf(module: string): string {
  return module.replace(/^provider-/, '')
}

function generalOf(provider: string): string {
  return `${provider}/general`
}

/** Model and temperature of a configuration as other hosts write it; `source` is kept in the run's input, never fetched. */
export function modelOf(
  config: AgentConfig | undefined,
  lacking: Lacking = {},
): { model?: string; temperature?: number } {
  const [provider] = config?.providers ?? []
  const id = provider?.config?.model
  const alone = providerAlone(config)
  const general = alone === undefined || Object.hasOwn(lacking, alone) ? undefined : generalOf(alone)
  const ofProvider = provider && id !== undefined && !id.includes('/') ? `${familyOf(provider.module)}/${id}` : id
  const model = config?.model ?? ofProvider ?? general
  const temperature = config?.temperature ?? provider?.config?.temperature
  return {
    ...(model === undefined ? undefined : { model }),
    ...(temperature === undefined ? undefined : { temperature }),
  }
}

/** When a model wrote the call, what it says of a known agent's tools can only narrow them. */
export function configured(base: Agent, config: AgentConfig | undefined, how: Configuring): Agent {
  const { origin, lacking } = how
  const agent = { ...base, ...modelOf(config, lacking) }
  const named = toolsNamed(config)
  if (!named) return agent
  if (origin.by === 'user') return { ...agent, tools: named }
  const { tools } = base
  if (tools) return { ...agent, tools: named.filter((name) => tools.includes(name)) }
  return { ...agent, tools: named, origin }
}

export interface Configuring {
  origin: AgentOrigin
  lacking: Lacking
}

function toolsNamed(config: AgentConfig | undefined): string[] | undefined {
  return config?.tools?.map((tool) => (typeof tool === 'string' ? tool : tool.module))
}

/** What of a configuration is not followed, in words; throws on a tool's name that is nearly one. Within a step only. */
export function unheeded(context: Context, config: AgentConfig | undefined, lacking: Lacking): string[] {
  const remarks = unknownKeys(config).map((key) => `no '${key}' here`)
  for (const { name, known } of context.unknownTools(toolsNamed(config) ?? [])) {
    refuseIfNear(name, known, 'tools')
    remarks.push(`no tool '${name}'; known: ${known.slice(0, 8).join(', ') || 'none'}`)
  }
  const [first, ...others] = config?.providers ?? []
  if (others.length > 0) remarks.push(`only the first of ${others.length + 1} providers is used`)
  const unused = Object.keys(first?.config ?? {}).filter((key) => !PROVIDER_KEYS.includes(key))
  if (unused.length > 0) remarks.push(`${unused.map((key) => `'${key}'`).join(', ')} of ${first?.module} is not used`)
  const alone = providerAlone(config)
  const why = alone === undefined || !Object.hasOwn(lacking, alone) ? undefined : lacking[alone]
  if (why !== undefined) remarks.push(`${alone} is named without a model, and the run's model is used: ${why}`)
  return remarks
}
