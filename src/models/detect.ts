import type { EnvironmentVariables } from '../kernel/world.ts'
import type { Endpoint } from './endpoints.ts'
import { ENDPOINTS, firstSetVariable } from './endpoints.ts'
import type { ModelRole } from './known-models.ts'
import { MODEL_ROLES, ROLE_MODELS } from './known-models.ts'

/** What a program configures: one model for everything, or one for a role. Lists with commas name fallbacks. */
export interface ModelConfig {
  model?: string
  fast?: string
  general?: string
  reasoning?: string
}

export interface ModelChoice {
  model: string
  why: string
}

export interface DetectedModels {
  roles: Partial<Record<ModelRole, ModelChoice>>
  found: { provider: string; variable: string; why: string }[]
  /** What could be set, and what it would give. */
  missing: { provider: string; variable: string; why: string }[]
}

/** What is configured, and which model each role therefore uses. Looks at variables only; nothing is called. */
export function detectModels(env: EnvironmentVariables, config: ModelConfig = {}): DetectedModels {
  const found: DetectedModels['found'] = []
  const missing: DetectedModels['missing'] = []
  for (const endpoint of ENDPOINTS) {
    // The same key as `openai`, in another dialect.
    if (endpoint.provider === 'openai-chat') continue
    const seen = configuredVariable(env, endpoint)
    if (seen) found.push({ provider: endpoint.provider, ...seen })
    else missing.push(missingVariable(endpoint))
  }
  const roles: DetectedModels['roles'] = {}
  for (const role of MODEL_ROLES) {
    const choice = chooseModel(role, { env, config, found })
    if (choice) roles[role] = choice
  }
  return { roles, found, missing }
}

function configuredVariable(
  env: EnvironmentVariables,
  endpoint: Endpoint,
): { variable: string; why: string } | undefined {
  const { provider, keyVariables, baseUrlVariables, keyOptional } = endpoint
  const key = firstSetVariable(env, keyVariables)
  const base = firstSetVariable(env, baseUrlVariables)
  if (key && (endpoint.baseUrl || base)) return { variable: key.variable, why: `${key.variable} holds a key` }
  if (!keyOptional || !base) return undefined
  return { variable: base.variable, why: `${base.variable} says where ${provider} runs` }
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
  if (!keyOptional) return { provider, variable: key, why: `for models named ${provider}/…` }
  const where = baseUrl
    ? `when it does not run at ${baseUrl}; name models ${provider}/…`
    : `for models named ${provider}/…`
  return { provider, variable: base, why: where }
}

interface DetectionInput {
  env: EnvironmentVariables
  config: ModelConfig
  found: DetectedModels['found']
}

function chooseModel(role: ModelRole, { env, config, found }: DetectionInput): ModelChoice | undefined {
  const special = `TROUPE_MODEL_${role.toUpperCase()}`
  const said: [string | undefined, string][] = [
    [config[role], `the configuration names it for ${role}`],
    [env[special], `${special} says so`],
    [config.model, 'the configuration names it for everything'],
    [env.TROUPE_MODEL, 'TROUPE_MODEL says so'],
  ]
  for (const [model, why] of said) if (model?.trim()) return { model: model.trim(), why }
  for (const { provider, variable } of found) {
    const id = ROLE_MODELS[provider]?.[role]
    if (id)
      return { model: `${provider}/${id}`, why: `${variable} is set, and this is the ${role} model of ${provider}` }
  }
  return undefined
}
