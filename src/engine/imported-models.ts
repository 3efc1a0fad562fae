import { TroupeError } from '../errors.ts'
import type { RunStart } from '../kernel/event.ts'
import type { Models } from '../kernel/model.ts'
import type { Ports } from '../kernel/ports.ts'

/**
 * The ports of a run that another installation recorded. A forged journal must not choose the model of the run, of an agent or of a request: a
 * script would be read from any file, and a local provider be reached on this machine. Throws if the run's own model is such a one.
 */
export function withOperatorModels(ports: Ports, { model }: RunStart): Ports {
  const { models, roster, summaryModel } = ports
  const ofAgents = roster.names.flatMap((name) => roster.get(name).model ?? [])
  const named = [...ofAgents, ...(summaryModel === undefined ? [] : [summaryModel])]
  const known = new Set(named.flatMap((list) => [list, ...list.split(',').map((name) => name.trim())]))
  const requireKnown = (name: string | undefined) => {
    if (name !== undefined && models.isConfigured?.(name) === false && !known.has(name)) throw notConfiguredError(name)
  }
  requireKnown(model)
  return { ...ports, models: checkedModels(models, requireKnown) }
}

function checkedModels(models: Models, requireKnown: (name: string | undefined) => void): Models {
  const withRoles = models.withRoles?.bind(models)
  return {
    resolve(name) {
      requireKnown(name)
      return models.resolve(name)
    },
    isConfigured: (name) => models.isConfigured?.(name) !== false,
    fallbacks: (name) => models.fallbacks?.(name) ?? [],
    settings: (model) => models.settings?.(model),
    ...(withRoles && { withRoles: (roles) => checkedModels(withRoles(roles), requireKnown) }),
  }
}

function notConfiguredError(name: string): TroupeError {
  return new TroupeError(
    'unknown_model',
    `another installation recorded the model '${name}', which is none of the configured models`,
    { responsible: 'operator', hint: `if you know it and want to use it, pass it yourself: --model ${name}` },
  )
}
