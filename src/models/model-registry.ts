import { nearestNames, TroupeError } from '../errors.ts'
import type { Model, Models } from '../kernel/model.ts'
import type { EnvironmentVariables, World } from '../kernel/world.ts'
import type { DetectedModels, ModelConfig } from './detect.ts'
import { bareModelCandidates, detectModels } from './detect.ts'
import type { ModelRole } from './known-models.ts'
import { hasModel, MODEL_ROLES, providersWithModel, ROLE_MODELS, toModelRole } from './known-models.ts'
import type { SettingsByModel } from './model-settings.ts'
import { settingsFor } from './model-settings.ts'

export interface ModelRegistryOptions {
  world: World
  env?: EnvironmentVariables
  /** Models by role; takes precedence over environment variables. */
  config?: ModelConfig
  /** Model for requests that name none, and for roles that are not configured. */
  fallback?: Model | string
  /** Models that the program provides, by their names; it may add more. */
  customModels?: Map<string, Model>
  settings?: SettingsByModel
}

/** Models by name, with their fallbacks. */
export interface ModelRegistry extends Models {
  /** The models after the first, for a list (`a/x, b/y`) or a role that stands for a list. */
  fallbacks(name: string | undefined): string[]
  /** The providers found in the environment and the model of each role. */
  readonly detected: DetectedModels
}

/** Resolves roles, `provider/model`, `scripted:FILE` and comma-separated lists of them. Models load on first use. */
export function createModelRegistry(options: ModelRegistryOptions): ModelRegistry {
  const { env = {}, fallback } = options
  const { customModels = new Map<string, Model>() } = options
  if (typeof fallback === 'object') customModels.set(fallback.name, fallback)
  const fallbackName = typeof fallback === 'object' ? fallback.name : fallback
  const configured = { ...options.config, ...(fallbackName === undefined ? undefined : { model: fallbackName }) }
  const detected = detectModels(env, configured)
  const directory = { detected, customModels, configured }
  const loading = new Map<string, Promise<Model>>()
  const modelNames = (name = fallbackName) => {
    if (name !== undefined) return expandModelNames(name, directory)
    if (!detected.roles.general) throw noModelError('no model is configured', detected)
    return expandModelNames('general', directory)
  }

  function findModel(name: string): Model | Promise<Model> {
    const custom = customModels.get(name)
    if (custom) return custom
    let model = loading.get(name)
    if (!model) {
      model = loadModel(name, options)
      // Failures are not cached: the missing key may be set before the next request.
      model.catch(() => loading.delete(name))
      loading.set(name, model)
    }
    return model
  }

  return {
    detected,
    resolve(name) {
      const [first] = modelNames(name)
      if (first !== undefined) return findModel(first)
      throw new TroupeError('unknown_model', `the model list '${name}' names no model`, {
        hint: 'write provider/model, or several separated by commas',
      })
    },
    isConfigured: (name) => isConfiguredModel(name, { ...directory, customNames: [...customModels.keys()] }),
    fallbacks: (name) => modelNames(name).slice(1),
    settings: (model) => (options.settings ? settingsFor(options.settings, model) : undefined),
    withRoles: (models) => createModelRegistry({ ...options, config: { ...options.config, ...models } }),
  }
}

interface ModelDirectory {
  detected: DetectedModels
  customModels: ReadonlyMap<string, Model>
  /** Models named by the program or its operator, as opposed to detected ones. */
  configured: ModelConfig
}

/** Splits a comma-separated list and replaces roles by their models. */
function expandModelNames(name: string, directory: ModelDirectory, path: readonly ModelRole[] = []): string[] {
  // Names of custom models and script files may contain commas and slashes.
  if (directory.customModels.has(name) || name.startsWith('scripted:')) return [name]
  const parts = name.split(',').map((part) => part.trim())
  if (parts.length > 1)
    return withoutDuplicates(parts.filter(Boolean).flatMap((part) => expandModelNames(part, directory, path)))
  const [, provider, providerRole] = /^([\w-]+)\/(fast|general|reasoning)$/.exec(name.trim()) ?? []
  if (provider !== undefined) return expandProviderRole(provider, providerRole as ModelRole, { directory, path })
  const role = toModelRole(name.trim())
  if (!role) return [resolveBareName(name.trim(), directory)]
  if (path.includes(role)) {
    throw new TroupeError('invalid_input', `model roles refer to each other: ${[...path, role].join(' → ')}`, {
      responsible: 'operator',
      hint: `set a model for ${role}, such as TROUPE_MODEL_${role.toUpperCase()}=provider/model`,
    })
  }
  const choice = directory.detected.roles[role]
  if (!choice) throw noModelError(`no model is configured for the role '${role}'`, directory.detected)
  return expandModelNames(choice.model, directory, [...path, role])
}

/**
 * `openai/general` is the default model of that provider for the role. A model configured for the role or for all roles
 * takes precedence, so that a script keeps a run offline.
 */
function expandProviderRole(
  provider: string,
  role: ModelRole,
  { directory, path }: { directory: ModelDirectory; path: readonly ModelRole[] },
): string[] {
  const { configured } = directory
  if (configured[role] ?? configured.model) return expandModelNames(role, directory, path)
  const id = ROLE_MODELS[provider]?.[role]
  if (id !== undefined) return [`${provider}/${id}`]
  throw new TroupeError('unknown_model', `the provider '${provider}' has no default model for the role '${role}'`, {
    alternatives: nearestNames(provider, Object.keys(ROLE_MODELS)),
    hint: `name a model: ${provider}/NAME`,
  })
}

/** `claude-sonnet-4-5` stands for `anthropic/claude-sonnet-4-5` if exactly one configured model or provider matches. */
function resolveBareName(name: string, { detected, customModels }: ModelDirectory): string {
  if (/[/:]/.test(name)) return name
  const ofRoles = Object.values(detected.roles).flatMap(({ model }) => model.split(',').map((each) => each.trim()))
  const candidates = withoutDuplicates([
    ...[...customModels.keys(), ...ofRoles].filter((model) => /^[^/]+\/(.*)$/.exec(model)?.[1] === name),
    ...bareModelCandidates(name, detected.found),
  ])
  const [only, ...others] = candidates
  if (only === undefined) return requireUnknownProvider(name)
  if (others.length === 0) return only
  throw new TroupeError('unknown_model', `the model '${name}' is ambiguous: ${candidates.join(', ')}`, {
    alternatives: candidates,
    hint: `name the provider, for example ${only}`,
  })
}

/** The name, unless a provider that is not configured has such a model: then the key is missing, not the model. */
function requireUnknownProvider(name: string): string {
  const names = providersWithModel(name).map((provider) => `${provider}/${name}`)
  const [first] = names
  if (first === undefined) return name
  throw new TroupeError('unknown_model', `no configured provider has the model '${name}'; known: ${names.join(', ')}`, {
    alternatives: names,
    hint: `set the API key of ${first.slice(0, first.indexOf('/'))}; troupe doctor names the variable`,
  })
}

function withoutDuplicates(names: readonly string[]): string[] {
  return [...new Set(names)]
}

function noModelError(message: string, { found }: DetectedModels): TroupeError {
  const [server] = found
  const setup = server
    ? `${server.reason}, but no model is named: set TROUPE_MODEL=${server.provider}/NAME`
    : 'set ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY or OPENROUTER_API_KEY'
  return new TroupeError('no_model', message, {
    hint: `${setup}; or pass --model provider/model (scripted:FILE replays scripted responses)`,
  })
}

async function loadModel(name: string, options: ModelRegistryOptions): Promise<Model> {
  const { world, env = {} } = options
  if (name.startsWith('scripted:')) {
    const { loadScript, scriptedModel } = await import('./scripted.ts')
    return scriptedModel(await loadScript(name.slice('scripted:'.length)), { name, world })
  }
  try {
    const { loadProviderModel } = await import('./providers.ts')
    return await loadProviderModel(name, { env, now: () => world.now() })
  } catch (thrown) {
    throw withCustomAlternatives(thrown, name, options)
  }
}

/** Adds custom models and roles to the alternatives of an `unknown_model` error. */
function withCustomAlternatives(thrown: unknown, name: string, { customModels }: ModelRegistryOptions): unknown {
  if (!(thrown instanceof TroupeError) || thrown.code !== 'unknown_model') return thrown
  const custom = customModels?.keys() ?? []
  const alternatives = nearestNames(name, [...custom, ...MODEL_ROLES, ...thrown.alternatives])
  return new TroupeError('unknown_model', thrown.message, { hint: thrown.hint, alternatives })
}

interface ConfiguredModels {
  detected: DetectedModels
  configured: ModelConfig
  customNames: readonly string[]
}

/**
 * True for the names that the operator configured: roles, the models of roles, custom models, and the known models of providers that are set
 * up. A model that could name others would read files (`scripted:/any/file`) and reach servers of this machine (SSRF).
 */
function isConfiguredModel(list: string, { detected, configured, customNames }: ConfiguredModels): boolean {
  const ofOperator = [...Object.values(detected.roles).map(({ model }) => model), ...Object.values(configured)]
  const parts = ofOperator.filter((name) => !name.startsWith('scripted:')).flatMap((name) => name.split(','))
  const known = new Set([...customNames, ...ofOperator, ...parts.map((name) => name.trim())])
  if (known.has(list.trim())) return true
  return list.split(',').every((part) => isConfiguredName(part.trim(), known, detected))
}

function isConfiguredName(name: string, known: ReadonlySet<string>, { found }: DetectedModels): boolean {
  if (known.has(name) || toModelRole(name) !== undefined) return true
  const [, provider, id = ''] = /^([\w-]+)\/(.+)$/.exec(name) ?? []
  if (provider === undefined) {
    return bareModelCandidates(name, found).length > 0 || [...known].some((each) => each.endsWith(`/${name}`))
  }
  const isSetUp = found.some((each) => each.provider === provider)
  return isSetUp && (toModelRole(id) !== undefined || hasModel(provider, id))
}
