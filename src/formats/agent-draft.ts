import { TroupeError } from '../errors.ts'
import type { Agent, AgentPermissions } from '../kernel/agent.ts'
import type { Dialect } from './agent-dialect.ts'
import type { Problem } from './file-problem.ts'
import { lineWarning } from './file-problem.ts'
import type { ToolNameContext } from './tool-list.ts'

/** An agent while its file is read. */
export interface AgentDraft {
  agent: Agent
  /** What is kept although the agent has no place for it. */
  extra: Map<string, unknown>
  problems: Problem[]
  toolContext: ToolNameContext
  /** The key that its tools came from, of several that can name them. */
  toolsKey?: string
}

export function createDraft(agent: Agent, dialect: Dialect, known: readonly string[]): AgentDraft {
  return { agent, extra: new Map(), problems: [], toolContext: { dialect, known } }
}

export function addWarning(draft: AgentDraft, line: number, message: string): void {
  draft.problems.push(lineWarning(line, message))
}

/** Adds rules to those that the agent has. */
export function addRules(agent: Agent, kind: keyof AgentPermissions, rules: readonly string[]): void {
  if (rules.length === 0) return
  const permissions = agent.permissions ?? {}
  permissions[kind] = [...new Set([...(permissions[kind] ?? []), ...rules])]
  agent.permissions = permissions
}

/** The agent is refused: with what cannot be read it would keep what was meant to be taken away. */
export function rejectAgent(draft: AgentDraft, key: string): never {
  const { name } = draft.agent
  throw new TroupeError('invalid_agent_file', `agent '${name}': '${key}' cannot be read`, {
    hint: 'write names separated by commas, or a list',
  })
}

/** The agent with what is kept beside it. Only what JSON can hold is kept: the agent goes into journals. */
export function finishDraft({ agent, extra, problems }: AgentDraft): { agent: Agent; problems: Problem[] } {
  const kept = Object.fromEntries([...extra].filter(([, value]) => value !== undefined))
  if (Object.keys(kept).length > 0) agent.extra = JSON.parse(JSON.stringify(kept)) as Record<string, unknown>
  return { agent, problems: problems.sort((a, b) => a.line - b.line) }
}
