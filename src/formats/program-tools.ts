import type { Pattern } from '../kernel/pattern.ts'
import { toolPatterns } from '../kernel/pattern.ts'
import type { Tool } from '../kernel/tool.ts'

/** The names that agent files may use for the tools and patterns of a program. */
export function programToolNames(program: {
  tools?: readonly Tool[] | object
  patterns?: readonly Pattern[]
}): string[] {
  const ofPatterns = toolPatterns(objectsIn(program.patterns)).flatMap(({ name, aliases }) => [name, aliases])
  const { tools } = program
  const byName = typeof tools === 'object' && !Array.isArray(tools) ? Object.keys(tools ?? {}) : []
  const ofTools = Array.isArray(tools) ? objectsIn<Tool>(tools).map(({ name }) => name) : byName
  const names: unknown[] = [...ofTools, ...ofPatterns.flat()]
  return names.filter((name) => typeof name === 'string')
}

/** They are checked later: a configuration is not type-checked, and may hold anything here. */
function objectsIn<T extends object>(list: readonly T[] | undefined): T[] {
  return Array.isArray(list) ? list.filter((item) => typeof item === 'object' && item !== null) : []
}
