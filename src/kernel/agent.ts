import type { Effort } from './model.ts'

/** Who wrote an agent down. Only a user's words can grant; what a model wrote can only narrow what it was given. */
export type AgentOrigin = { by: 'user'; path?: string; dialect?: string; collection?: string } | { by: 'model' }

/** Rules such as `Bash(npm test:*)`. A tool with `allow` rules of its own may be used only as they say. */
export interface AgentPermissions {
  allow?: string[]
  ask?: string[]
  deny?: string[]
}

/** One who works: plain data. Running it is the turn's business. */
export interface Agent {
  name: string
  description: string
  /** The system prompt. */
  instructions: string
  /** `provider/model` or a role; absent means what its caller uses. */
  model?: string
  temperature?: number
  /** How much it thinks, where its model can be told. */
  effort?: Effort
  /** The tools it has; absent means those of its caller. */
  tools?: string[]
  /** Taken away from what it would otherwise have. */
  exclude_tools?: string[]
  /** How it may use them. */
  permissions?: AgentPermissions
  /** It may look, and change nothing; nor may those it calls. */
  read_only?: true
  /** MCP servers it brings along, as its file says; `null` names one of the configuration. */
  mcp_servers?: Record<string, unknown>
  /** Whom it may delegate to; absent means the whole roster. */
  agents?: string[]
  /** Model calls for one instruction. */
  max_turns?: number
  /** Milliseconds for one instruction, waiting for people not counted. */
  timeout_ms?: number
  /** Those who call it do not wait for it, unless they say so. */
  background?: true
  /** What it is told before the instruction, where it is the first agent of a run. */
  initial_prompt?: string
  origin?: AgentOrigin
  /** What its file says beyond this, by the file's own keys. */
  extra?: Record<string, unknown>
}

/** Effective tools = (inherited − excluded) + explicit; a definition written by a model adds nothing. */
export function effectiveTools(agent: Agent, inherited: readonly string[]): string[] {
  const excluded = new Set(agent.exclude_tools)
  const mayGrant = agent.origin?.by !== 'model'
  const wanted = agent.tools ?? inherited
  const allowed = mayGrant ? wanted : wanted.filter((name) => inherited.includes(name))
  return [...new Set(allowed)].filter((name) => !excluded.has(name))
}
