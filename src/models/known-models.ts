import { nearestNames } from '../errors.ts'

/*
 * Limits and roles of common models, from the providers' pages in November 2026. A model that is not listed still works;
 * only its context window is unknown, and no role selects it.
 */

export type ModelRole = 'fast' | 'general' | 'reasoning'

export const MODEL_ROLES: readonly ModelRole[] = ['fast', 'general', 'reasoning']

export interface ModelLimits {
  /** Tokens of the context window. */
  context: number
  /** Tokens of the longest response. */
  output: number
}

const MILLION = 1_000_000
const GPT_6 = { context: 1_050_000, output: 128_000 }
const CLAUDE_5 = { context: MILLION, output: 128_000 }
const GEMINI = { context: 1_048_576, output: 65_536 }

/** Limits by provider and model id. Dated ids share the limits of their alias. */
const MODEL_LIMITS: Readonly<Record<string, Readonly<Record<string, ModelLimits>>>> = {
  anthropic: {
    'claude-haiku-5-5': CLAUDE_5,
    'claude-sonnet-5-5': CLAUDE_5,
    'claude-opus-5-5': CLAUDE_5,
    'claude-fable-5-1': CLAUDE_5,
    'claude-sonnet-5': CLAUDE_5,
    'claude-opus-5': CLAUDE_5,
    'claude-haiku-4-5': { context: 200_000, output: 64_000 },
    'claude-sonnet-4-5': { context: 200_000, output: 64_000 },
    'claude-opus-4-5': { context: 200_000, output: 64_000 },
  },
  openai: {
    'gpt-6-luna': GPT_6,
    'gpt-6.1-terra': GPT_6,
    'gpt-6.1-sol': GPT_6,
    'gpt-6-sol': GPT_6,
    'gpt-6-astra': GPT_6,
    'gpt-5.4-mini': { context: 400_000, output: 128_000 },
    'gpt-5': { context: 400_000, output: 128_000 },
    'gpt-5-mini': { context: 400_000, output: 128_000 },
    'gpt-5-nano': { context: 400_000, output: 128_000 },
    'gpt-4.1': { context: 1_047_576, output: 32_768 },
    'gpt-4o': { context: 128_000, output: 16_384 },
    'gpt-4o-mini': { context: 128_000, output: 16_384 },
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

/** Context window and longest response of a model, if known. */
export function knownLimits(provider: string, id: string): ModelLimits | undefined {
  const known = MODEL_LIMITS[provider === 'openai-chat' ? 'openai' : provider]
  return known?.[id] ?? known?.[id.replace(/-(\d{8}|\d{4}-\d{2}-\d{2})$/, '')]
}

/** True when the provider is known to have a model with this id. */
export function hasModel(provider: string, id: string): boolean {
  return knownLimits(provider, id) !== undefined || Object.values(ROLE_MODELS[provider] ?? {}).includes(id)
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
  const known = MODEL_LIMITS[provider === 'openai-chat' ? 'openai' : provider] ?? {}
  return nearestNames(
    name,
    Object.keys(known).map((id) => `${provider}/${id}`),
  )
}

/** Every `provider/model` with known limits. */
export function knownModelNames(): string[] {
  return Object.entries(MODEL_LIMITS).flatMap(([provider, models]) =>
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
