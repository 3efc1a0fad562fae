import type { Agent, AgentPermissions } from './agent.ts'

export interface PermissionRequest {
  agent: Agent
  /** Rules of those above it, under which it has its tools. */
  inheritedRules: readonly AgentPermissions[]
  tool: string
  /** What the call is about: a path, a command, an address. */
  subject: string | undefined
  acts: boolean
  /** True while only looking is allowed: plan mode. */
  read_only: boolean
  /** True for the agent that whoever started the run named. */
  isRootAgent: boolean
  /** Rules that were set when the run was started; those in force now can only add to them. */
  runRules: unknown
  /** Rules that people granted in this run; with `=` in front, the one call they said `always` to. */
  grantedRules: readonly string[]
  /** Tells exactly this call from any other. */
  fingerprint: string
}

export interface PermissionDecision {
  decision: 'allow' | 'ask' | 'deny'
  reason: string
  /** Rules that would have allowed it. */
  allowedRules: readonly string[]
  /** It is asked for because it may be denied: a rule cannot answer that, only a yes to this very call. */
  needsExactApproval?: true
  /** Patterns of files that a search must leave out. */
  excludedGlobs?: readonly string[]
}

export interface Permissions {
  decide(call: PermissionRequest): PermissionDecision
}

/** Whatever an agent was given it may use. */
export const ALLOW_ALL: Permissions = {
  decide: ({ acts, read_only }) =>
    acts && read_only
      ? { decision: 'deny', reason: 'nothing may be changed in plan mode', allowedRules: [] }
      : { decision: 'allow', reason: 'no rules are set', allowedRules: [] },
}
