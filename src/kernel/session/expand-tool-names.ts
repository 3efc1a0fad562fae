import type { Ports } from '../ports.ts'

/*
 * What the names in an agent's list stand for. Tools of servers come and go with them, so their order is their names': a
 * prompt must not change with which server was quicker.
 */

type ToolRegistry = Pick<Ports, 'tools' | 'patternTools'>

/**
 * Names in registry spelling. `mcp__files` and `mcp__files__*` stand for all tools of that server, `files/read` and
 * `files/*` mean the same in the words of other hosts. Names that nobody provides are left out.
 */
export function expandToolNames(names: readonly string[], registry: ToolRegistry): string[] {
  return names.flatMap((name) => {
    const exact = registry.tools.get(name)?.name ?? registry.patternTools.get(name)?.name
    if (exact !== undefined) return exact
    const start = serverPrefix(name)
    if (start !== undefined) return serverTools(registry).filter((each) => each.startsWith(start))
    const [, server, tool] = /^([\w-]+)\/([\w.:-]+)$/.exec(name) ?? []
    return registry.tools.get(`mcp__${server}__${tool}`)?.name ?? []
  })
}

/** What an agent has that nobody limits: everything but what has to be asked for by name. */
export function defaultTools(registry: ToolRegistry): string[] {
  const own = [...registry.tools.keys()].filter((name) => !isServerTool(name))
  const common = [...registry.patternTools.values()].filter(({ pattern }) => !pattern.on_request)
  const patterns = new Set(common.map((tool) => tool.name))
  return [...own, ...serverTools(registry), ...patterns]
}

/** Whether what a name stands for is known only once a server has started. */
export function isServerTool(name: string): boolean {
  return name.startsWith('mcp__') || name.includes('/')
}

function serverTools({ tools }: ToolRegistry): string[] {
  return [...tools.keys()].filter(isServerTool).sort()
}

function serverPrefix(name: string): string | undefined {
  if (name.startsWith('mcp__')) return name.endsWith('*') ? name.slice(0, -1) : `${name}__`
  const [, server] = /^([\w-]+)\/\*$/.exec(name) ?? []
  return server === undefined ? undefined : `mcp__${server}__`
}
