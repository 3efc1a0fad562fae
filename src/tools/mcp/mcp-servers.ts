import { TroupeError } from '../../errors.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Tool } from '../../kernel/tool.ts'
import type { EnvironmentVariables, World } from '../../kernel/world.ts'
import type { Workspace } from '../files/workspace.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { AddressPolicy } from '../web/ssrf-guard.ts'
import { PUBLIC_ADDRESSES } from '../web/ssrf-guard.ts'
import type { McpLimits, McpServerContext, McpServerState } from './mcp-server.ts'
import { DEFAULT_MCP_LIMITS, McpServer } from './mcp-server.ts'
import type { McpServerConfig } from './mcp-server-config.ts'
import { isSameServer, parseServerConfig, serverLocation } from './mcp-server-config.ts'
import { matchesServer, mcpServerKey } from './mcp-tool-names.ts'

/*
 * The MCP servers of a troupe and their tools.
 * 1. Servers of the configuration are for every agent; agent-provided servers are for that agent and the agents it calls.
 * 2. A name belongs to one server: an agent cannot replace another server by its own (spoofing).
 * 3. Agents written by a model cannot declare servers.
 * 4. A tool stays in `tools` while its server lists it; an existing tool is never replaced.
 */

export interface McpServersOptions {
  /** The servers of the configuration, by name. */
  servers: Readonly<Record<string, McpServerConfig>>
  /** Long results are kept in its `.troupe` folder. */
  workspace?: Workspace
  /** The sandbox for server processes. */
  sandbox?: Sandbox
  /** Allows server processes to run without a sandbox. Default: false. */
  unconfined?: boolean
  /** Environment variables that `${NAME}` may refer to in agent-provided servers. Default: none. */
  exposeEnv?: readonly string[]
  /** Hosts of agent-provided servers: a name, `*.name`, or `*` for any public host. Default: none. */
  hosts?: readonly string[]
  /** Resolves and checks host names. Default: public addresses only. */
  addresses?: AddressPolicy
  world: Pick<World, 'sleep'>
  env: EnvironmentVariables
  limits?: Partial<McpLimits>
  /** The registry to which the tools are added. */
  tools?: Map<string, Tool>
  /** Called for everything that is skipped or fails. */
  warn?(problem: string): void
}

export interface McpServerStatus {
  name: string
  transport: 'stdio' | 'http'
  /** The program or URL, without possible secrets. */
  where: string
  /** False for an agent-provided server. */
  shared: boolean
  state: McpServerState
  tools: number
  problems: string[]
}

export interface McpServers {
  /** Starts the servers that an agent needs; `undefined` when all are running. Never rejects. */
  prepare(agent: Agent): Promise<void> | undefined
  /** The tools of the servers in the agent's own `mcp_servers`. */
  agentProvidedTools(agent: Agent): string[]
  /** All tools known so far; changes as servers start. */
  readonly tools: Map<string, Tool>
  status(): McpServerStatus[]
  /** Stops all servers; none is started afterwards. */
  close(): Promise<void>
}

export function createMcpServers(options: McpServersOptions): McpServers {
  const tools = options.tools ?? new Map<string, Tool>()
  const context = createServerContext(options, tools)
  const { report } = context
  const known = new Map<string, McpServer>()
  for (const server of createConfiguredServers(options.servers, context)) known.set(server.key, server)

  const ownServers = (agent: Agent) =>
    agent.origin?.by === 'model'
      ? []
      : Object.entries(agent.mcp_servers ?? {}).flatMap(([name, entry]) => {
          const result = resolveAgentServer(known, { agent: agent.name, name, entry }, context)
          if (typeof result !== 'string') return result ?? []
          report(`agent ${agent.name}: MCP server '${name}': ${result}`)
          return []
        })
  const requiredServers = (agent: Agent) => {
    const configured = [...known.values()].filter(({ key, agentProvided }) => !agentProvided && needsServer(agent, key))
    return [...new Set([...ownServers(agent), ...configured])]
  }
  let closed = false
  return {
    tools,
    prepare(agent) {
      const missing = closed
        ? []
        : requiredServers(agent).filter(({ state }) => state === 'idle' || state === 'starting')
      if (missing.length === 0) return undefined
      const starts = missing.map((server) =>
        server.ready().then(
          () => {},
          (error: Error) => (closed ? undefined : report(formatError(error))),
        ),
      )
      return Promise.all(starts).then(() => {})
    },
    agentProvidedTools: (agent) => ownServers(agent).flatMap((server) => server.tools),
    status: () => [...known.values()].map(toStatus),
    async close() {
      closed = true
      await Promise.all([...known.values()].map((server) => server.close()))
    },
  }
}

/** The settings that all servers share. Each problem is reported once. */
function createServerContext(options: McpServersOptions, tools: Map<string, Tool>): McpServerContext {
  const reported = new Set<string>()
  const report = (problem: string) => {
    if (reported.has(problem)) return
    reported.add(problem)
    options.warn?.(problem)
  }
  return {
    world: options.world,
    sandbox: options.sandbox,
    unconfined: options.unconfined ?? false,
    workspace: options.workspace,
    agentAccess: {
      exposeEnv: options.exposeEnv ?? [],
      hosts: options.hosts ?? [],
      addresses: options.addresses ?? PUBLIC_ADDRESSES,
    },
    env: options.env,
    limits: { ...DEFAULT_MCP_LIMITS, ...options.limits },
    report,
    registerTools: (server, listed) => registerTools(tools, server, { listed, report }),
  }
}

/** A denied server is reported with its hint. */
function formatError(error: Error): string {
  const isDenied = error instanceof TroupeError && error.code === 'denied' && error.hint !== ''
  return isDenied ? `${error.message}; ${error.hint}` : error.message
}

/** Throws on an invalid entry: the operator can fix the configuration before anything starts. */
function createConfiguredServers(servers: McpServersOptions['servers'], context: McpServerContext): McpServer[] {
  const keys = new Map<string, string>()
  return Object.entries(servers).flatMap(([name, entry]) => {
    const key = mcpServerKey(name)
    const parsed = parseServerConfig(entry)
    const other = keys.get(key)
    const nameProblem =
      key === ''
        ? 'its name contains no letter or digit'
        : other !== undefined
          ? `its name is too similar to '${other}'`
          : undefined
    const problem = nameProblem ?? ('problem' in parsed ? parsed.problem : undefined)
    if (problem !== undefined) {
      throw new TroupeError('invalid_input', `the MCP server '${name}' is invalid: ${problem}`, {
        hint: nameProblem ? 'rename it in `mcpServers`' : 'use {command, args, env} or {type: "http", url, headers}',
      })
    }
    keys.set(key, name)
    return 'spec' in parsed ? new McpServer({ key, spec: parsed.spec, agentProvided: false }, context) : []
  })
}

/** The server of an entry in an agent file; `undefined` when it is disabled, or a problem as text. */
function resolveAgentServer(
  known: Map<string, McpServer>,
  { agent, name, entry }: { agent: string; name: string; entry: unknown },
  context: McpServerContext,
): McpServer | string | undefined {
  const key = mcpServerKey(name)
  const present = known.get(key)
  if (entry === null) {
    if (present && !present.agentProvided) return present
    const names = [...known.values()].filter(({ agentProvided }) => !agentProvided).map((server) => server.key)
    return `the configuration has no server of this name; known: ${names.length === 0 ? 'none' : names.join(', ')}`
  }
  const parsed = parseServerConfig(entry)
  if ('problem' in parsed) return parsed.problem
  if ('off' in parsed) return undefined
  if (key === '') return 'its name contains no letter or digit'
  if (!present) {
    const server = new McpServer({ key, spec: parsed.spec, agentProvided: true }, context)
    known.set(key, server)
    return server
  }
  if (isSameServer(present.spec, parsed.spec)) return present
  return `another server already has this name; rename it in the file of ${agent}`
}

/** An agent without a `tools` list can use all servers of the configuration. */
function needsServer({ tools, exclude_tools = [] }: Agent, key: string): boolean {
  if (exclude_tools.includes(`mcp__${key}`) || exclude_tools.includes(`mcp__${key}__*`)) return false
  return tools === undefined || tools.some((name) => matchesServer(name, key))
}

function registerTools(
  tools: Map<string, Tool>,
  server: McpServer,
  { listed, report }: { listed: readonly Tool[]; report(problem: string): void },
): void {
  const previous = new Set(server.tools)
  const names = new Set(listed.map(({ name }) => name))
  for (const name of previous) if (!names.has(name)) tools.delete(name)
  const added = listed.filter(({ name }) => {
    const isFree = previous.has(name) || !tools.has(name)
    if (!isFree) report(`MCP server '${server.key}': tool ${name} is skipped: another tool has this name`)
    return isFree
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
