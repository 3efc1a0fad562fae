import type { ToolPorts } from '../ports.ts'

type ToolRegistry = Pick<ToolPorts, 'tools' | 'patternTools' | 'serverToolNames'>

/** The registered tools that names in an agent's list stand for. Names that match no tool are left out. */
export function expandToolNames(names: readonly string[], registry: ToolRegistry): string[] {
  return names.flatMap((name) => {
    const exact = registry.tools.get(name)?.name ?? registry.patternTools.get(name)?.name
    if (exact !== undefined) return exact
    const selects = registry.serverToolNames.selector(name)
    return selects ? serverTools(registry).filter(selects) : []
  })
}

/** The tools of an agent without a `tools` list: all but patterns that have to be listed by name. */
export function defaultTools(registry: ToolRegistry): string[] {
  const own = [...registry.tools.keys()].filter((name) => !registry.serverToolNames.isServerTool(name))
  const common = [...registry.patternTools.values()].filter(({ pattern }) => !pattern.on_request)
  const patterns = new Set(common.map((tool) => tool.name))
  return [...own, ...serverTools(registry), ...patterns]
}

/** Sorted by name: a prompt must not change with the order in which servers happened to start. */
function serverTools({ tools, serverToolNames }: ToolRegistry): string[] {
  return [...tools.keys()].filter((name) => serverToolNames.isServerTool(name)).sort()
}
