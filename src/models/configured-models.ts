import type { DetectedModels, ModelConfig } from './detect.ts'
import { bareModelCandidates } from './detect.ts'
import { hasModel, toModelRole } from './known-models.ts'

interface ConfiguredModels {
  detected: DetectedModels
  configured: ModelConfig
  customNames: readonly string[]
}

/**
 * True for the names that the operator configured: roles, the models of roles, custom models, and the known models of providers that are set
 * up. A model that could name others would read files (`scripted:/any/file`) and reach servers of this machine (SSRF).
 */
export function isConfiguredModel(list: string, { detected, configured, customNames }: ConfiguredModels): boolean {
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
