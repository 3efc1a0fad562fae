import type { Agent, AgentPermissions } from './agent.ts'

export interface PermissionRequest {
  agent: Agent
  /** Rules of the callers whose tools it inherits. */
  inheritedRules: readonly AgentPermissions[]
  tool: string
  /** A path, a command or a URL. */
  subject: string | undefined
  /** The agents that a call of a pattern names; `subject` joins them. */
  agents?: readonly string[]
  acts: boolean
  /** True in plan mode. */
  read_only: boolean
  /** True for the agent that the run was started with. */
  isRootAgent: boolean
  /** Rules given at the start of the run; the current rules can only add to them. */
  runRules: unknown
  /** Rules that people granted in this run; `=FINGERPRINT` grants one exact call. */
  grantedRules: readonly string[]
  /** Hash of exactly this call. */
  fingerprint: string
}

export interface PermissionDecision {
  decision: 'allow' | 'ask' | 'deny'
  reason: string
  /** Rules that would allow the call. */
  allowedRules: readonly string[]
  /** A deny rule may apply: only a yes to this exact call allows it, a new rule does not. */
  needsExactApproval?: true
  /** Files that a search must skip. */
  excludedGlobs?: readonly string[]
  /** The content of the file that a person was shown, as a hash; empty for a new file. */
  approvedBase?: string
}

/** The rules that apply to an agent's calls of a tool. */
export interface ToolRules extends Pick<PermissionRequest, 'agent' | 'inheritedRules' | 'tool' | 'runRules'> {}

export interface Permissions {
  decide(call: PermissionRequest): PermissionDecision
  /** A sentence for the description of the tool that says which calls are allowed; `undefined` if all are. */
  describe?(rules: ToolRules): string | undefined
}
