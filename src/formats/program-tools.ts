import type { Pattern } from '../kernel/pattern.ts'
import { toolPatterns } from '../kernel/pattern.ts'
import type { Tool } from '../kernel/tool.ts'

/** The names that agent files may use for the tools and patterns of a program. */
export function programToolNames(program: { tools?: readonly Tool[]; patterns?: readonly Pattern[] }): string[] {
  const { tools = [], patterns = [] } = program
  const ofPatterns = toolPatterns(patterns).flatMap(({ name, aliases = [] }) => [name, ...aliases])
  const names: unknown[] = [...tools.map(({ name }) => name), ...ofPatterns]
  // They are checked later, and a configuration is not type-checked.
  return names.filter((name) => typeof name === 'string')
}
