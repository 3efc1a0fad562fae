import { TroupeError } from '../../errors.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Tool } from '../../kernel/tool.ts'
import type { EnvironmentVariables, World } from '../../kernel/world.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { AddressPolicy } from '../web/ssrf-guard.ts'
import { PUBLIC_ADDRESSES } from '../web/ssrf-guard.ts'
import { matchesServer, mcpServerKey } from './mcp-name.ts'
import type { McpLimits, McpServerState } from './mcp-server.ts'
import { DEFAULT_MCP_LIMITS, McpServer } from './mcp-server.ts'
import type { McpServerConfig } from './mcp-server-config.ts'
import { isSameServer, parseServerConfig, serverLocation } from './mcp-server-config.ts'

/*
 * The MCP servers of a troupe and their tools.
 * 1. Those of the configuration are for every agent; those an agent brings along are for it and for those it calls.
 * 2. A name stands for one server: an agent cannot put its own in the place of another one.
 * 3. What a model wrote down brings no server.
 * 4. Tools are in `tools` while their server is known; a tool that was there before is never replaced.
 */

export interface McpServersOptions {
  /** The configuration's servers, by name. */
  servers: Readonly<Record<string, McpServerConfig>>
  /** Where programs of servers run. */
  sandbox?: Sandbox
  /** Without a sandbox no program of a server is started, unless this is said. */
  unconfined?: boolean
  /** Variables that `${NAME}` may stand for in servers that agents bring. Default: none. */
  exposeEnv?: readonly string[]
  /** Hosts at which agents' own servers may be: a name, `*.name`, or `*` for any public one. Default: none. */
  hosts?: readonly string[]
  /** How names of hosts are resolved and judged, instead of: public addresses only. */
  addresses?: AddressPolicy
  world: Pick<World, 'sleep'>
  env: EnvironmentVariables
  limits?: Partial<McpLimits>
  /** The registry that the servers' tools are added to. */
  tools?: Map<string, Tool>
  /** Told of everything that is left out or fails. */
  warn?(problem: string): void
}

export interface McpServerStatus {
  name: string
  transport: 'stdio' | 'http'
  /** Its program or address, without anything that may be secret. */
  where: string
  /** False for a server that an agent brought along. */
  shared: boolean
  state: McpServerState
  tools: number
  problems: string[]
}

export interface McpServers {
  /** Starts what an agent needs and has not been started; `undefined` when nothing is missing. Never rejects. */
  prepare(agent: Agent): Promise<void> | undefined
  /** The tools of the servers that an agent names itself. */
  agentProvidedTools(agent: Agent): string[]
  /** Everything that is known so far, and changes as servers are started. */
  readonly tools: Map<string, Tool>
  status(): McpServerStatus[]
  /** Ends every server; none is started any more. */
  close(): Promise<void>
}

export function createMcpServers(options: McpServersOptions): McpServers {
  const tools = options.tools ?? new Map<string, Tool>()
  const told = new Set<string>()
  const report = (problem: string) => {
    if (told.has(problem)) return
    told.add(problem)
    options.warn?.(problem)
  }
  const site = {
    world: options.world,
    sandbox: options.sandbox,
    unconfined: options.unconfined ?? false,
    agentAccess: {
      exposeEnv: options.exposeEnv ?? [],
      hosts: options.hosts ?? [],
      addresses: options.addresses ?? PUBLIC_ADDRESSES,
    },
    env: options.env,
    limits: { ...DEFAULT_MCP_LIMITS, ...options.limits },
    report,
    registerTools: (server: McpServer, found: readonly Tool[]) => registerTools(tools, server, { found, report }),
  }
  const known = new Map<string, McpServer>()
  for (const server of createConfiguredServers(options.servers, site)) known.set(server.key, server)

  const own = (agent: Agent) =>
    agent.origin?.by === 'model'
      ? []
      : Object.entries(agent.mcp_servers ?? {}).flatMap(([name, entry]) => {
          const found = resolveAgentServer(known, { agent: agent.name, name, entry }, site)
          if (typeof found !== 'string') return found ?? []
          report(`the agent ${agent.name}: MCP server '${name}': ${found}`)
          return []
        })
  const needed = (agent: Agent) => {
    const everyones = [...known.values()].filter(({ key, agentProvided }) => !agentProvided && needsServer(agent, key))
    return [...new Set([...own(agent), ...everyones])]
  }
  let closed = false
  return {
    tools,
    prepare(agent) {
      const missing = closed ? [] : needed(agent).filter(({ state }) => state === 'idle' || state === 'starting')
      if (missing.length === 0) return undefined
      const starts = missing.map((server) =>
        server.ready().then(
          () => {},
          (error: Error) => (closed ? undefined : report(formatError(error))),
        ),
      )
      return Promise.all(starts).then(() => {})
    },
    agentProvidedTools: (agent) => own(agent).flatMap((server) => server.tools),
    status: () => [...known.values()].map(toStatus),
    async close() {
      closed = true
      await Promise.all([...known.values()].map((server) => server.close()))
    },
  }
}

/** A refusal says at once what to do about it. */
function formatError(error: Error): string {
  const refused = error instanceof TroupeError && error.code === 'denied' && error.hint !== ''
  return refused ? `${error.message}; ${error.hint}` : error.message
}

type ServerContext = ConstructorParameters<typeof McpServer>[1]

/** The configuration was written for this troupe: what is wrong with it is said before anything begins. */
function createConfiguredServers(servers: McpServersOptions['servers'], site: ServerContext): McpServer[] {
  const keys = new Map<string, string>()
  return Object.entries(servers).flatMap(([name, entry]) => {
    const key = mcpServerKey(name)
    const read = parseServerConfig(entry)
    const other = keys.get(key)
    const problem =
      key === ''
        ? 'its name has no letter and no digit'
        : other !== undefined
          ? `its name is too close to '${other}'`
          : 'problem' in read
            ? read.problem
            : undefined
    if (problem !== undefined) {
      throw new TroupeError('invalid_input', `the MCP server '${name}' is not usable: ${problem}`, {
        hint: 'a server is {command, args, env} or {type: "http", url, headers}',
      })
    }
    keys.set(key, name)
    return 'spec' in read ? new McpServer({ key, spec: read.spec, brought: false }, site) : []
  })
}

/** The server that an agent's entry stands for, nothing when it is switched off, or what is wrong. */
function resolveAgentServer(
  known: Map<string, McpServer>,
  { agent, name, entry }: { agent: string; name: string; entry: unknown },
  site: ServerContext,
): McpServer | string | undefined {
  const key = mcpServerKey(name)
  const present = known.get(key)
  if (entry === null) {
    if (present && !present.agentProvided) return present
    const names = [...known.values()].filter(({ agentProvided }) => !agentProvided).map((server) => server.key)
    return `the configuration does not have it; it has ${names.length === 0 ? 'none' : names.join(', ')}`
  }
  const read = parseServerConfig(entry)
  if ('problem' in read) return read.problem
  if ('off' in read) return undefined
  if (key === '') return 'its name has no letter and no digit'
  if (!present) {
    const server = new McpServer({ key, spec: read.spec, brought: true }, site)
    known.set(key, server)
    return server
  }
  if (isSameServer(present.spec, read.spec)) return present
  return `another server has this name already; rename the one of ${agent}`
}

/** An agent without a list of its own may come to have any tool. */
function needsServer({ tools, exclude_tools = [] }: Agent, key: string): boolean {
  if (exclude_tools.includes(`mcp__${key}`) || exclude_tools.includes(`mcp__${key}__*`)) return false
  return tools === undefined || tools.some((name) => matchesServer(name, key))
}

function registerTools(
  tools: Map<string, Tool>,
  server: McpServer,
  { found, report }: { found: readonly Tool[]; report(problem: string): void },
): void {
  const before = new Set(server.tools)
  const names = new Set(found.map(({ name }) => name))
  for (const name of before) if (!names.has(name)) tools.delete(name)
  const added = found.filter(({ name }) => {
    const free = before.has(name) || !tools.has(name)
    if (!free) report(`MCP server '${server.key}': its tool ${name} is left out: there is one of this name already`)
    return free
  })
  for (const tool of added) tools.set(tool.name, tool)
  server.tools = added.map(({ name }) => name)
}

function toStatus(server: McpServer): McpServerStatus {
  const { key, spec, agentProvided, state, tools, problems } = server
  return {
    name: key,
    transport: spec.kind,
    where: serverLocation(spec),
    shared: !agentProvided,
    state,
    tools: tools.length,
    problems: [...problems],
  }
}
