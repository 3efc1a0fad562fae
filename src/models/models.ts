import { TroupeError } from '../errors.ts'
import type { Model, Models } from '../kernel/model.ts'
import type { World } from '../kernel/world.ts'

/** Finds models by name. Each is made once and loaded when first used. */
export function createModels(options: { world: World; fallback?: Model | string; known?: readonly Model[] }): Models {
  const made = new Map<string, Promise<Model>>()
  const known = new Map((options.known ?? []).map((model) => [model.name, model]))
  const byName = (name: string): Model | Promise<Model> => {
    const ready = known.get(name)
    if (ready) return ready
    let making = made.get(name)
    if (!making) {
      making = load(name, options.world)
      making.catch(() => made.delete(name))
      made.set(name, making)
    }
    return making
  }
  return {
    resolve(name) {
      const { fallback } = options
      if (typeof fallback === 'object' && (name === undefined || name === fallback.name)) return fallback
      const wanted = name ?? (typeof fallback === 'string' ? fallback : undefined)
      if (wanted !== undefined) return byName(wanted)
      throw new TroupeError('no_model', 'no model is configured', {
        hint: 'pass --model or set TROUPE_MODEL, such as scripted:FILE (a script of answers); a program passes `model`',
      })
    },
  }
}

async function load(name: string, world: World): Promise<Model> {
  if (name.startsWith('scripted:')) {
    const { loadScript, scriptedModel } = await import('./scripted.ts')
    return scriptedModel(await loadScript(name.slice('scripted:'.length)), { name, world })
  }
  throw new TroupeError('unknown_model', `no model '${name}'`, {
    hint: 'this version knows scripted:FILE and the Model objects that a program passes',
    alternatives: ['scripted:FILE'],
  })
}
