import { nearestNames } from '../errors.ts'

/*
 * Output limits and roles of common models, from the providers' pages in November 2026. A model that is not listed still works;
 * only its output limit is unknown, and no role selects it. Context windows are in the price table.
 */

export type ModelRole = 'fast' | 'general' | 'reasoning'

export const MODEL_ROLES: readonly ModelRole[] = ['fast', 'general', 'reasoning']

const K = 1000
const GEMINI = 65_536

/** Tokens of the longest response, by provider and model id. Dated ids share the limit of their alias. */
const OUTPUT_LIMITS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  anthropic: {
    'claude-haiku-5-5': 128 * K,
    'claude-sonnet-5-5': 128 * K,
    'claude-opus-5-5': 128 * K,
    'claude-fable-5-1': 128 * K,
    'claude-sonnet-5': 128 * K,
    'claude-opus-5': 128 * K,
    'claude-haiku-4-5': 64 * K,
    'claude-sonnet-4-5': 64 * K,
    'claude-opus-4-5': 64 * K,
  },
  openai: {
    'gpt-6-luna': 128 * K,
    'gpt-6.1-terra': 128 * K,
    'gpt-6.1-sol': 128 * K,
    'gpt-6-sol': 128 * K,
    'gpt-6-astra': 128 * K,
    'gpt-5.4-mini': 128 * K,
    'gpt-5': 128 * K,
    'gpt-5-mini': 128 * K,
    'gpt-5-nano': 128 * K,
    'gpt-4.1': 32_768,
    'gpt-4o': 16_384,
    'gpt-4o-mini': 16_384,
  },
  google: {
    'gemini-3.8-flash': GEMINI,
    'gemini-3.5-flash-lite': GEMINI,
    'gemini-2.5-pro': GEMINI,
    'gemini-2.5-flash': GEMINI,
    'gemini-2.5-flash-lite': GEMINI,
  },
}

/** Default model of each role, for providers with a fixed set of models. */
export const ROLE_MODELS: Readonly<Record<string, Readonly<Record<ModelRole, string>>>> = {
  anthropic: { fast: 'claude-haiku-5-5', general: 'claude-sonnet-5-5', reasoning: 'claude-opus-5-5' },
  openai: { fast: 'gpt-6-luna', general: 'gpt-6.1-terra', reasoning: 'gpt-6.1-sol' },
  google: { fast: 'gemini-3.5-flash-lite', general: 'gemini-3.8-flash', reasoning: 'gemini-3.8-flash' },
  openrouter: { fast: 'openai/gpt-5.4-mini', general: 'openai/gpt-6.1-terra', reasoning: 'openai/gpt-6.1-terra' },
}

/** Tokens of the longest response of a model, if known. */
export function outputLimit(provider: string, id: string): number | undefined {
  const known = OUTPUT_LIMITS[provider === 'openai-chat' ? 'openai' : provider]
  return known?.[id] ?? known?.[id.replace(/-(\d{8}|\d{4}-\d{2}-\d{2})$/, '')]
}

/** True when the provider is known to have a model with this id. */
export function hasModel(provider: string, id: string): boolean {
  return outputLimit(provider, id) !== undefined || Object.values(ROLE_MODELS[provider] ?? {}).includes(id)
}

/** Providers that are known to have a model with this id, configured or not. */
export function providersWithModel(id: string): string[] {
  return Object.keys(ROLE_MODELS).filter((provider) => hasModel(provider, id))
}

const REASONING_EFFORT_MODELS = [
  // Older Claude models take a thinking budget instead, in tokens on top of `max_output` and so of the run's budget.
  /claude-[a-z]+-(4-[6-9]|[5-9])/,
  /\bgpt-(oss|[5-9])(?!.*-chat)/,
  /(^|\/)o[1-9](-|$)/,
  /gemini-(2\.5|[3-9])/,
]

/** True when a model accepts a reasoning effort, whichever provider serves it; other models may reject the request. */
export function supportsReasoningEffort(id: string): boolean {
  return REASONING_EFFORT_MODELS.some((pattern) => pattern.test(id))
}

const TEXT_ONLY_MODELS = /(^|\/)(gpt-3\.5|o1-mini|o3-mini|gpt-oss|deepseek-(chat|reasoner|v\d|r\d))/

/** True when a model is known not to take a file of this type. */
export function isUnsupportedFile(model: { provider: string; modelId: string }, media_type: string): boolean {
  if (model.provider.startsWith('google') && media_type === 'image/gif') return true
  return TEXT_ONLY_MODELS.test(model.modelId)
}

/** Known models of the same provider, nearest first. */
export function similarModels(name: string): string[] {
  const [provider = ''] = name.split('/', 1)
  const known = OUTPUT_LIMITS[provider === 'openai-chat' ? 'openai' : provider] ?? {}
  return nearestNames(
    name,
    Object.keys(known).map((id) => `${provider}/${id}`),
  )
}

/** Every `provider/model` with a known output limit. */
export function knownModelNames(): string[] {
  return Object.entries(OUTPUT_LIMITS).flatMap(([provider, models]) =>
    Object.keys(models).map((id) => `${provider}/${id}`),
  )
}

/** Roles for the Claude model families that agent files of other tools name. */
const FAMILY_ROLES: Readonly<Record<string, ModelRole>> = {
  haiku: 'fast',
  sonnet: 'general',
  opus: 'reasoning',
  fable: 'reasoning',
}

export function toModelRole(name: string): ModelRole | undefined {
  return MODEL_ROLES.find((role) => role === name) ?? FAMILY_ROLES[name.toLowerCase()]
}
