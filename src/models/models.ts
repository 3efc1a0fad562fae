import { nearest, TroupeError } from '../errors.ts'
import type { Model, Models } from '../kernel/model.ts'
import type { World } from '../kernel/world.ts'
import type { Detected, ModelConfig } from './detect.ts'
import { detect } from './detect.ts'
import type { Environment } from './endpoints.ts'
import type { Role } from './known-models.ts'
import { ROLE_MODELS, ROLES } from './known-models.ts'

export interface ModelsOptions {
  world: World
  env?: Environment
  /** Models for roles, before those of the environment. */
  config?: ModelConfig
  /** What is used where no model is named, and for roles that nobody configured by name. */
  fallback?: Model | string
  /** Models of a program's own, found by their names. */
  known?: readonly Model[]
}

/** Models by name, with those that take over when the first one fails. */
export interface NamedModels extends Models {
  /** The models after the first, for a list (`a/x, b/y`) or a role that names one. */
  fallbacks(name: string | undefined): string[]
  /** What was found in the environment, and what each role uses. */
  readonly detected: Detected
}

/** Agent files of other tools name a family; each stands for a role. */
const FAMILIES: Readonly<Record<string, Role>> = {
  haiku: 'fast',
  sonnet: 'general',
  opus: 'reasoning',
  fable: 'reasoning',
}

/** Finds models by name: roles, `provider/model`, `scripted:FILE`, lists of them. Each is loaded when first used. */
export function createModels(options: ModelsOptions): NamedModels {
  const { env = {}, fallback } = options
  const own = [...(options.known ?? []), ...(typeof fallback === 'object' ? [fallback] : [])]
  const known = new Map(own.map((model) => [model.name, model]))
  const fallbackName = typeof fallback === 'object' ? fallback.name : fallback
  const chosen = { ...options.config, ...(fallbackName === undefined ? undefined : { model: fallbackName }) }
  const detected = detect(env, chosen)
  const directory = { detected, known, chosen }
  const made = new Map<string, Promise<Model>>()
  const names = (name = fallbackName) => {
    if (name !== undefined) return namesIn(name, directory)
    if (!detected.roles.general) throw noModel('no model is configured', detected)
    return namesIn('general', directory)
  }

  function byName(name: string): Model | Promise<Model> {
    const ready = known.get(name)
    if (ready) return ready
    let making = made.get(name)
    if (!making) {
      making = load(name, options)
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

interface Directory {
  detected: Detected
  known: ReadonlyMap<string, Model>
  /** What the program or its operator names, as opposed to what was found. */
  chosen: ModelConfig
}

/** A name as a list of models: lists are split, and roles become what they stand for. */
function namesIn(name: string, directory: Directory, path: readonly Role[] = []): string[] {
  // Names of a program's own models, and of files, may hold anything.
  if (directory.known.has(name) || name.startsWith('scripted:')) return [name]
  const parts = name.split(',').map((part) => part.trim())
  if (parts.length > 1) return unique(parts.filter(Boolean).flatMap((part) => namesIn(part, directory, path)))
  const [, provider, part] = /^([\w-]+)\/(fast|general|reasoning)$/.exec(name.trim()) ?? []
  if (provider !== undefined) return namesOf(provider, part as Role, { directory, path })
  const role = roleOf(name.trim())
  if (!role) return [name.trim()]
  if (path.includes(role)) {
    throw new TroupeError('invalid_input', `the models of the roles go in a circle: ${[...path, role].join(' → ')}`, {
      blame: 'operator',
      hint: `give ${role} a model of its own, such as TROUPE_MODEL_${role.toUpperCase()}=provider/model`,
    })
  }
  const choice = directory.detected.roles[role]
  if (!choice) throw noModel(`no model is configured for the role '${role}'`, directory.detected)
  return namesIn(choice.model, directory, [...path, role])
}

/**
 * `openai/general` is what that provider has for the role. A model that somebody named for everything, such as a script that
 * keeps a run offline, goes before it as it goes before any role.
 */
function namesOf(
  provider: string,
  role: Role,
  { directory, path }: { directory: Directory; path: readonly Role[] },
): string[] {
  const { chosen } = directory
  if (chosen[role] ?? chosen.model) return namesIn(role, directory, path)
  const id = ROLE_MODELS[provider]?.[role]
  if (id !== undefined) return [`${provider}/${id}`]
  throw new TroupeError('unknown_model', `no model of '${provider}' is known for the role ${role}`, {
    alternatives: nearest(provider, Object.keys(ROLE_MODELS)),
    hint: `name one: ${provider}/NAME`,
  })
}

function roleOf(name: string): Role | undefined {
  return ROLES.find((role) => role === name) ?? FAMILIES[name.toLowerCase()]
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)]
}

function noModel(message: string, { found }: Detected): TroupeError {
  const [local] = found
  const nothing = 'set ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY or OPENROUTER_API_KEY'
  const which = local ? `${local.why}, but not which model to use: set TROUPE_MODEL=${local.provider}/NAME` : nothing
  return new TroupeError('no_model', message, {
    hint: `${which}; or pass --model provider/model (scripted:FILE plays a script of answers)`,
  })
}

async function load(name: string, options: ModelsOptions): Promise<Model> {
  const { world, env = {} } = options
  if (name.startsWith('scripted:')) {
    const { loadScript, scriptedModel } = await import('./scripted.ts')
    return scriptedModel(await loadScript(name.slice('scripted:'.length)), { name, world })
  }
  try {
    const { providerModel } = await import('./providers.ts')
    return await providerModel(name, { env, now: () => world.now() })
  } catch (thrown) {
    throw withOwn(thrown, name, options)
  }
}

/** A program's own models and the roles are as good an answer to a mistyped name as the providers are. */
function withOwn(thrown: unknown, name: string, { known = [] }: ModelsOptions): unknown {
  if (!(thrown instanceof TroupeError) || thrown.code !== 'unknown_model') return thrown
  const own = [...known.map((model) => model.name), ...ROLES]
  const alternatives = nearest(name, [...own, ...thrown.alternatives])
  const { message, hint } = thrown
  return new TroupeError('unknown_model', message, { hint, alternatives })
}
