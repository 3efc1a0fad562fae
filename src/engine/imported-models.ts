import type { RunStart } from '../kernel/event.ts'
import { importedModelError } from '../kernel/imported-runs.ts'
import type { Models } from '../kernel/model.ts'
import type { Ports } from '../kernel/ports.ts'

/**
 * The ports of a run that another installation recorded: only models that the operator has configured are resolved, whether the run, an agent or a
 * request names them. Throws if the run's own model is another one.
 */
export function withOperatorModels(ports: Ports, { model }: RunStart): Ports {
  const { models, roster, summaryModel } = ports
  const ofAgents = roster.names.flatMap((name) => roster.get(name).model ?? [])
  const named = [...ofAgents, ...(summaryModel === undefined ? [] : [summaryModel])]
  const known = new Set(named.flatMap((list) => [list, ...list.split(',').map((name) => name.trim())]))
  const requireKnown = (name: string | undefined) => {
    if (name !== undefined && models.isConfigured?.(name) === false && !known.has(name)) throw importedModelError(name)
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
