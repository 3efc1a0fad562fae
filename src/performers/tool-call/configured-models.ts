import { TroupeError } from '../../errors.ts'
import { isConfiguredForModels } from '../../kernel/session/availability.ts'
import type { ToolCallScope } from './tool-call-scope.ts'

const MAX_DEPTH = 16

/** Rejects a call whose arguments name a model that the operator has not configured. Confused deputy: the name is a model's own choice. */
export function requireConfiguredModels({ execution }: ToolCallScope, tool: string, input: unknown): void {
  for (const name of namedModels(input, MAX_DEPTH)) {
    if (isConfiguredForModels(execution, name)) continue
    throw new TroupeError('unknown_model', `${tool}: \`model\` '${name}' is none of the configured models`, {
      hint: 'leave out `model`, or use a role: fast, general or reasoning',
      alternatives: ['fast', 'general', 'reasoning'],
    })
  }
}

/** The values of every field `model`. */
function namedModels(value: unknown, depth: number): string[] {
  if (typeof value !== 'object' || value === null || depth === 0) return []
  return Object.entries(value).flatMap(([key, each]) =>
    key === 'model' && typeof each === 'string' ? [each] : namedModels(each, depth - 1),
  )
}
