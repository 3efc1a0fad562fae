import { TroupeError } from '../errors.ts'
import type { Agent, AgentPermissions } from '../kernel/agent.ts'
import type { Dialect } from './agent-dialect.ts'
import type { Problem } from './file-text.ts'
import { lineWarning } from './file-text.ts'
import type { ToolNameContext } from './tool-list.ts'

/** An agent under construction while its file is read. */
export interface AgentDraft {
  agent: Agent
  /** Keys without a field in `Agent`, kept for `agent.extra`. */
  extra: Map<string, unknown>
  problems: Problem[]
  toolContext: ToolNameContext
  /** The key that set `agent.tools`: several keys can. */
  toolsKey?: string
}

export const MISSING_DESCRIPTION = "'description' is missing: other agents cannot tell when to call this one"

export function createDraft(agent: Agent, dialect: Dialect, known: readonly string[]): AgentDraft {
  return { agent, extra: new Map(), problems: [], toolContext: { dialect, known } }
}

export function addWarning(draft: AgentDraft, line: number, message: string): void {
  draft.problems.push(lineWarning(line, message))
}

/** Adds permission rules to the agent. */
export function addRules(agent: Agent, kind: keyof AgentPermissions, rules: readonly string[]): void {
  if (rules.length === 0) return
  const permissions = agent.permissions ?? {}
  permissions[kind] = [...new Set([...(permissions[kind] ?? []), ...rules])]
  agent.permissions = permissions
}

/** Rejects the agent: ignoring an unreadable restriction would grant more than its author intended. */
export function rejectAgent(
  draft: AgentDraft,
  key: string,
  hint = `\`${key}\` must be a list, or names separated by commas`,
): never {
  throw new TroupeError('invalid_agent_file', `agent '${draft.agent.name}': '${key}' is invalid`, { hint })
}

/** Completes the agent with `extra`, converted to JSON values because agents are written to journals. */
export function finishDraft({ agent, extra, problems }: AgentDraft): { agent: Agent; problems: Problem[] } {
  const kept = Object.fromEntries([...extra].filter(([, value]) => value !== undefined))
  if (Object.keys(kept).length > 0) agent.extra = JSON.parse(JSON.stringify(kept)) as Record<string, unknown>
  return { agent, problems: problems.sort((a, b) => a.line - b.line) }
}
