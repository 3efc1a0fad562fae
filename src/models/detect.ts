import type { Endpoint, Environment } from './endpoints.ts'
import { ENDPOINTS, firstSet } from './endpoints.ts'
import type { Role } from './known-models.ts'
import { ROLE_MODELS, ROLES } from './known-models.ts'

/** What a program configures: one model for everything, or one for a role. Lists with commas name fallbacks. */
export interface ModelConfig {
  model?: string
  fast?: string
  general?: string
  reasoning?: string
}

export interface Choice {
  model: string
  why: string
}

export interface Detected {
  roles: Partial<Record<Role, Choice>>
  found: { provider: string; variable: string; why: string }[]
  /** What could be set, and what it would give. */
  missing: { provider: string; variable: string; why: string }[]
}

/** What is configured, and which model each role therefore uses. Looks at variables only; nothing is called. */
export function detect(env: Environment, config: ModelConfig = {}): Detected {
  const found: Detected['found'] = []
  const missing: Detected['missing'] = []
  for (const endpoint of ENDPOINTS) {
    // The same key as `openai`, in another dialect.
    if (endpoint.provider === 'openai-chat') continue
    const seen = seenIn(env, endpoint)
    if (seen) found.push({ provider: endpoint.provider, ...seen })
    else missing.push(whatToSet(endpoint))
  }
  const roles: Detected['roles'] = {}
  for (const role of ROLES) {
    const choice = chooseFor(role, { env, config, found })
    if (choice) roles[role] = choice
  }
  return { roles, found, missing }
}

function seenIn(env: Environment, endpoint: Endpoint): { variable: string; why: string } | undefined {
  const { provider, keys, bases, keyless } = endpoint
  const key = firstSet(env, keys)
  const base = firstSet(env, bases)
  if (key && (endpoint.address || base)) return { variable: key.variable, why: `${key.variable} holds a key` }
  if (!keyless || !base) return undefined
  return { variable: base.variable, why: `${base.variable} says where ${provider} runs` }
}

function whatToSet({ provider, keys, bases, keyless, address }: Endpoint): Detected['missing'][number] {
  const [key = ''] = keys
  const [base = ''] = bases
  if (!keyless) return { provider, variable: key, why: `for models named ${provider}/…` }
  const where = address
    ? `when it does not run at ${address}; name models ${provider}/…`
    : `for models named ${provider}/…`
  return { provider, variable: base, why: where }
}

interface Known {
  env: Environment
  config: ModelConfig
  found: Detected['found']
}

function chooseFor(role: Role, { env, config, found }: Known): Choice | undefined {
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
