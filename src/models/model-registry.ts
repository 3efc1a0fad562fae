import { nearestNames, TroupeError } from '../errors.ts'
import type { Model, Models } from '../kernel/model.ts'
import type { EnvironmentVariables, World } from '../kernel/world.ts'
import type { DetectedModels, ModelConfig } from './detect.ts'
import { detectModels } from './detect.ts'
import type { ModelRole } from './known-models.ts'
import { MODEL_ROLES, ROLE_MODELS } from './known-models.ts'

export interface ModelRegistryOptions {
  world: World
  env?: EnvironmentVariables
  /** Models for roles, before those of the environment. */
  config?: ModelConfig
  /** What is used where no model is named, and for roles that nobody configured by name. */
  fallback?: Model | string
  /** Models of a program's own, found by their names. */
  customModels?: readonly Model[]
}

/** Models by name, with those that take over when the first one fails. */
export interface ModelRegistry extends Models {
  /** The models after the first, for a list (`a/x, b/y`) or a role that names one. */
  fallbacks(name: string | undefined): string[]
  /** What was found in the environment, and what each role uses. */
  readonly detected: DetectedModels
}

/** Agent files of other tools name a family; each stands for a role. */
const FAMILY_ROLES: Readonly<Record<string, ModelRole>> = {
  haiku: 'fast',
  sonnet: 'general',
  opus: 'reasoning',
  fable: 'reasoning',
}

/** Finds models by name: roles, `provider/model`, `scripted:FILE`, lists of them. Each is loaded when first used. */
export function createModelRegistry(options: ModelRegistryOptions): ModelRegistry {
  const { env = {}, fallback } = options
  const own = [...(options.customModels ?? []), ...(typeof fallback === 'object' ? [fallback] : [])]
  const known = new Map(own.map((model) => [model.name, model]))
  const fallbackName = typeof fallback === 'object' ? fallback.name : fallback
  const chosen = { ...options.config, ...(fallbackName === undefined ? undefined : { model: fallbackName }) }
  const detected = detectModels(env, chosen)
  const directory = { detected, known, chosen }
  const made = new Map<string, Promise<Model>>()
  const names = (name = fallbackName) => {
    if (name !== undefined) return expandModelNames(name, directory)
    if (!detected.roles.general) throw noModelError('no model is configured', detected)
    return expandModelNames('general', directory)
  }

  function byName(name: string): Model | Promise<Model> {
    const ready = known.get(name)
    if (ready) return ready
    let making = made.get(name)
    if (!making) {
      making = loadModel(name, options)
      // A key that was missing may be there next time.
      making.catch(() => made.delete(name))
      made.set(name, making)
    }
    return making
  }

  return {
    detected,
    resolve(name) {
      const [first] = names(name)
      if (first !== undefined) return byName(first)
      throw new TroupeError('unknown_model', `no model is named in '${name}'`)
    },
    fallbacks: (name) => names(name).slice(1),
  }
}

interface ModelDirectory {
  detected: DetectedModels
  known: ReadonlyMap<string, Model>
  /** What the program or its operator names, as opposed to what was found. */
  chosen: ModelConfig
}

/** A name as a list of models: lists are split, and roles become what they stand for. */
function expandModelNames(name: string, directory: ModelDirectory, path: readonly ModelRole[] = []): string[] {
  // Names of a program's own models, and of files, may hold anything.
  if (directory.known.has(name) || name.startsWith('scripted:')) return [name]
  const parts = name.split(',').map((part) => part.trim())
  if (parts.length > 1)
    return withoutDuplicates(parts.filter(Boolean).flatMap((part) => expandModelNames(part, directory, path)))
  const [, provider, part] = /^([\w-]+)\/(fast|general|reasoning)$/.exec(name.trim()) ?? []
  if (provider !== undefined) return expandProviderRole(provider, part as ModelRole, { directory, path })
  const role = toModelRole(name.trim())
  if (!role) return [name.trim()]
  if (path.includes(role)) {
    throw new TroupeError('invalid_input', `the models of the roles go in a circle: ${[...path, role].join(' → ')}`, {
      responsible: 'operator',
      hint: `give ${role} a model of its own, such as TROUPE_MODEL_${role.toUpperCase()}=provider/model`,
    })
  }
  const choice = directory.detected.roles[role]
  if (!choice) throw noModelError(`no model is configured for the role '${role}'`, directory.detected)
  return expandModelNames(choice.model, directory, [...path, role])
}

/**
 * `openai/general` is what that provider has for the role. A model that somebody named for everything, such as a script that
 * keeps a run offline, goes before it as it goes before any role.
 */
function expandProviderRole(
  provider: string,
  role: ModelRole,
  { directory, path }: { directory: ModelDirectory; path: readonly ModelRole[] },
): string[] {
  const { chosen } = directory
  if (chosen[role] ?? chosen.model) return expandModelNames(role, directory, path)
  const id = ROLE_MODELS[provider]?.[role]
  if (id !== undefined) return [`${provider}/${id}`]
  throw new TroupeError('unknown_model', `no model of '${provider}' is known for the role ${role}`, {
    alternatives: nearestNames(provider, Object.keys(ROLE_MODELS)),
    hint: `name one: ${provider}/NAME`,
  })
}

function toModelRole(name: string): ModelRole | undefined {
  return MODEL_ROLES.find((role) => role === name) ?? FAMILY_ROLES[name.toLowerCase()]
}

function withoutDuplicates(names: readonly string[]): string[] {
  return [...new Set(names)]
}

function noModelError(message: string, { found }: DetectedModels): TroupeError {
  const [local] = found
  const nothing = 'set ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY or OPENROUTER_API_KEY'
  const which = local ? `${local.why}, but not which model to use: set TROUPE_MODEL=${local.provider}/NAME` : nothing
  return new TroupeError('no_model', message, {
    hint: `${which}; or pass --model provider/model (scripted:FILE plays a script of answers)`,
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

/** A program's own models and the roles are as good an answer to a mistyped name as the providers are. */
function withCustomAlternatives(thrown: unknown, name: string, { customModels = [] }: ModelRegistryOptions): unknown {
  if (!(thrown instanceof TroupeError) || thrown.code !== 'unknown_model') return thrown
  const own = [...customModels.map((model) => model.name), ...MODEL_ROLES]
  const alternatives = nearestNames(name, [...own, ...thrown.alternatives])
  const { message, hint } = thrown
  return new TroupeError('unknown_model', message, { hint, alternatives })
}
