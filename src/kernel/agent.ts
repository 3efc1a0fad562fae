import type { Effort, SamplingSettings } from './model.ts'

/** The author of an agent definition. Only a user's can grant tools; a model's can only narrow the inherited ones. */
export type AgentOrigin = { by: 'user'; path?: string; dialect?: string; collection?: string } | { by: 'model' }

/** Permission rules such as `Bash(npm test:*)`. A tool with `allow` rules may be used only as they allow. */
export interface AgentPermissions {
  allow?: string[]
  ask?: string[]
  deny?: string[]
}

/** An agent definition: plain data, run by a session. */
export interface Agent extends SamplingSettings {
  name: string
  description: string
  /** The system prompt. */
  instructions: string
  /** `provider/model` or a role. Default: the caller's model. */
  model?: string
  /** Carries out its turns instead of the model loop: a name of `performers`. */
  performer?: string
  /** Reasoning effort, for models that support it. */
  effort?: Effort
  /** Default: the caller's tools. */
  tools?: string[]
  /**
   * Without `tools`: the tools that it has as the first agent of a run in addition to the common ones, such as `collaborate`, which
   * agents have to ask for by name. `tools: "*, collaborate"` in its file.
   */
  extra_tools?: string[]
  /** It has the tools for artifacts, unless it lists `tools`; text files that it and the agents it calls write become artifacts. */
  artifacts?: true
  /** Tools removed from its own or inherited list. */
  exclude_tools?: string[]
  permissions?: AgentPermissions
  /** It and the agents it calls change nothing. */
  read_only?: true
  /** Its own MCP servers, by name; `null` refers to a configured server. */
  mcp_servers?: Record<string, unknown>
  /** Names of the agents it may delegate to. Default: the whole roster. */
  agents?: string[]
  /** Model requests per instruction. */
  max_turns?: number
  /** Milliseconds per instruction, not counting time at gates. */
  timeout_ms?: number
  /** Callers do not wait for it, unless they ask to. */
  background?: true
  /** Each of its sessions works in a git worktree of its own, and its changes are kept on a branch. */
  isolation?: 'worktree'
  /** It is not among the agents that tools offer to a model, unless `agents` of the caller names it; calls by name work. */
  on_request?: true
  /** Message before the instruction when it is the first agent of a run. */
  initial_prompt?: string
  origin?: AgentOrigin
  /** Further keys of its agent file. */
  extra?: Record<string, unknown>
}

/** The agent's own tools, or else the inherited ones, without `exclude_tools`. A model's definition adds none. */
export function effectiveTools(agent: Agent, inherited: readonly string[]): string[] {
  const excluded = new Set(agent.exclude_tools)
  const mayGrant = agent.origin?.by !== 'model'
  const listed = agent.tools ?? inherited
  const allowed = mayGrant ? listed : listed.filter((name) => inherited.includes(name))
  return [...new Set(allowed)].filter((name) => !excluded.has(name))
}
