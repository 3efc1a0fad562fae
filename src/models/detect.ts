import type { EnvironmentVariables } from '../kernel/world.ts'
import type { Endpoint } from './endpoints.ts'
import { ENDPOINTS, firstSetVariable } from './endpoints.ts'
import type { ModelRole } from './known-models.ts'
import { hasModel, MODEL_ROLES, ROLE_MODELS } from './known-models.ts'

/** Configured models: one for all roles, or one per role. A comma-separated list names fallbacks. */
export interface ModelConfig {
  model?: string
  fast?: string
  general?: string
  reasoning?: string
}

export interface ModelChoice {
  model: string
  reason: string
}

export interface DetectedModels {
  roles: Partial<Record<ModelRole, ModelChoice>>
  found: { provider: string; variable: string; reason: string }[]
  /** Variables that are not set, and what they would enable. */
  missing: { provider: string; variable: string; reason: string }[]
}

/** Detects the configured providers and the model of each role from environment variables, without network access. */
export function detectModels(env: EnvironmentVariables, config: ModelConfig = {}): DetectedModels {
  const found: DetectedModels['found'] = []
  const missing: DetectedModels['missing'] = []
  for (const endpoint of ENDPOINTS) {
    // Shares its key with `openai`; only the protocol differs.
    if (endpoint.provider === 'openai-chat') continue
    const configured = configuredVariable(env, endpoint)
    if (configured) found.push({ provider: endpoint.provider, ...configured })
    else missing.push(missingVariable(endpoint))
  }
  const roles: DetectedModels['roles'] = {}
  for (const role of MODEL_ROLES) {
    const choice = chooseModel(role, { env, config, found })
    if (choice) roles[role] = choice
  }
  return { roles, found, missing }
}

/** The models that a name without a provider can stand for: those of the configured providers that are known to have it. */
export function bareModelCandidates(name: string, found: DetectedModels['found']): string[] {
  if (/[/,:]/.test(name)) return []
  return found.flatMap(({ provider }) => (hasModel(provider, name) ? [`${provider}/${name}`] : []))
}

function configuredVariable(
  env: EnvironmentVariables,
  endpoint: Endpoint,
): { variable: string; reason: string } | undefined {
  const { keyVariables, baseUrlVariables, keyOptional } = endpoint
  const key = firstSetVariable(env, keyVariables)
  const base = firstSetVariable(env, baseUrlVariables)
  if (key && (endpoint.baseUrl || base)) return { variable: key.variable, reason: `${key.variable} is set` }
  if (!keyOptional || !base) return undefined
  return { variable: base.variable, reason: `${base.variable} is set` }
}

function missingVariable({
  provider,
  keyVariables,
  baseUrlVariables,
  keyOptional,
  baseUrl,
}: Endpoint): DetectedModels['missing'][number] {
  const [key = ''] = keyVariables
  const [base = ''] = baseUrlVariables
  if (!keyOptional) return { provider, variable: key, reason: `for models named ${provider}/…` }
  const reason = baseUrl
    ? `if ${provider} does not run at ${baseUrl}; models are named ${provider}/…`
    : `for models named ${provider}/…`
  return { provider, variable: base, reason }
}

interface DetectionInput {
  env: EnvironmentVariables
  config: ModelConfig
  found: DetectedModels['found']
}

function chooseModel(role: ModelRole, { env, config, found }: DetectionInput): ModelChoice | undefined {
  const roleVariable = `TROUPE_MODEL_${role.toUpperCase()}`
  const configured: [string | undefined, string][] = [
    [config[role], `configured for the role ${role}`],
    [env[roleVariable], `set by ${roleVariable}`],
    [config.model, 'configured for all roles'],
    [env.TROUPE_MODEL, 'set by TROUPE_MODEL'],
  ]
  for (const [model, reason] of configured) {
    if (!model?.trim()) continue
    const name = model.trim()
    const candidates = bareModelCandidates(name, found)
    return { model: candidates.length === 1 ? (candidates[0] ?? name) : name, reason }
  }
  for (const { provider, variable } of found) {
    const id = ROLE_MODELS[provider]?.[role]
    if (id) return { model: `${provider}/${id}`, reason: `default ${role} model of ${provider} (${variable} is set)` }
  }
  return undefined
}
