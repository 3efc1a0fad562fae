import type { Agent } from '../kernel/agent.ts'
import type { Roster } from '../kernel/roster.ts'

/** Characters of one description, and of all of a list: a large roster must not fill the context window. */
const MAX_DESCRIPTION_CHARS = 240
const MAX_LIST_CHARS = 12_000
const MIN_DESCRIPTION_CHARS = 40
const MAX_NAMED_TOOLS = 5

/** The names that tools offer to a model: without agents that are `on_request`. */
export function offeredNames(roster: Roster): string[] {
  return roster.names.filter((name) => roster.get(name).on_request !== true)
}

/**
 * The agents that a model can choose from, one per line: name, description, and a model role such as `fast` as their cost. Every
 * request of the caller repeats the list, so that tools stand only for a missing description. Prompt caching: in the given order,
 * and the same text for the same agents.
 */
export function agentList(agents: readonly Agent[]): string {
  const max = Math.floor(MAX_LIST_CHARS / Math.max(agents.length, 1))
  const chars = Math.min(MAX_DESCRIPTION_CHARS, Math.max(MIN_DESCRIPTION_CHARS, max))
  const withoutTools = ({ tools: _tools, ...agent }: Agent) => agent
  const isDescribed = ({ description }: Agent) => description.trim() !== ''
  return agents.map((agent) => `- ${agentSummary(isDescribed(agent) ? withoutTools(agent) : agent, chars)}`).join('\n')
}

/** One line about an agent. */
export function agentSummary(agent: Agent, maxChars = MAX_DESCRIPTION_CHARS): string {
  const description = shortDescription(agent.description, maxChars)
  const facts = [toolNames(agent.tools), costRole(agent.model)].filter((fact) => fact !== '')
  const detail = facts.length === 0 ? '' : ` (${facts.join('; ')})`
  return `${agent.name}${description === '' ? '' : `: ${description}`}${detail}`
}

/** A description on one line, truncated. */
export function shortDescription(description: string, maxChars = MAX_DESCRIPTION_CHARS): string {
  const line = description.replaceAll(/\s+/g, ' ').trim()
  return line.length <= maxChars ? line : `${line.slice(0, maxChars - 1).trimEnd()}…`.toWellFormed()
}

function toolNames(tools: readonly string[] | undefined): string {
  if (!tools) return ''
  if (tools.length === 0) return 'no tools'
  const more = tools.length > MAX_NAMED_TOOLS ? `, ${tools.length - MAX_NAMED_TOOLS} more` : ''
  return `tools: ${tools.slice(0, MAX_NAMED_TOOLS).join(', ')}${more}`
}

/** A role such as `fast` tells the price class; a model id does not. */
function costRole(model: string | undefined): string {
  return model === undefined || model.includes('/') ? '' : `model: ${model}`
}
