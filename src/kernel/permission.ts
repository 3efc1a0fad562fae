import type { Agent, AgentPermissions } from './agent.ts'

export interface PermissionCall {
  agent: Agent
  /** Rules of those above it, under which it has its tools. */
  held: readonly AgentPermissions[]
  tool: string
  /** What the call is about: a path, a command, an address. */
  subject: string | undefined
  acts: boolean
  /** True while only looking is allowed: plan mode. */
  read_only: boolean
  /** True for the agent that whoever started the run named. */
  root: boolean
  /** Rules that were set when the run was started; those in force now can only add to them. */
  recorded: unknown
  /** Rules that people granted in this run; with `=` in front, the one call they said `always` to. */
  granted: readonly string[]
  /** Tells exactly this call from any other. */
  exact: string
}

export interface PermissionAnswer {
  answer: 'allow' | 'ask' | 'deny'
  reason: string
  /** Rules that would have allowed it. */
  allowed: readonly string[]
  /** It is asked for because it may be denied: a rule cannot answer that, only a yes to this very call. */
  unsure?: true
  /** Patterns of files that a search must leave out. */
  except?: readonly string[]
}

export interface Permissions {
  decide(call: PermissionCall): PermissionAnswer
}

/** Whatever an agent was given it may use. */
export const ALL_PERMITTED: Permissions = {
  decide: ({ acts, read_only }) =>
    acts && read_only
      ? { answer: 'deny', reason: 'nothing may be changed in plan mode', allowed: [] }
      : { answer: 'allow', reason: 'no rules are set', allowed: [] },
}
