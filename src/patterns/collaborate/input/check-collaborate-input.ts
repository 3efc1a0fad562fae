import { didYouMean, TroupeError, unknownNameError } from '../../../errors.ts'
import { checkAttachments } from '../../../judgement/attachment/attached-file.ts'
import { normalizeStatement } from '../../../judgement/similarity/similarity.ts'
import { requireAgentName } from '../../../kernel/agent-name.ts'
import type { Roster } from '../../../kernel/roster.ts'
import type { CollaborationLimits } from '../specialists.ts'
import { specialistName, specialistRole } from '../specialists.ts'
import { checkAgentConfig } from './agent-config.ts'
import type { CollaborateInput } from './input.ts'

/** Rejects invalid input before the first model request. */
export function checkCollaborateInput(
  roster: Roster,
  input: CollaborateInput,
  limits: Pick<CollaborationLimits, 'max_agents'>,
): void {
  if (input.task.trim() === '') throw invalidInput('`task` is empty', 'describe what the agents should work on')
  checkAttachments(input.attachments ?? [])
  checkAgents(roster, input, limits)
  checkVote(input)
}

function checkAgents(
  roster: Roster,
  input: CollaborateInput,
  { max_agents }: Pick<CollaborationLimits, 'max_agents'>,
): void {
  const { agents, mode } = input
  if (agents.length === 0) throw invalidInput('`agents` is empty', 'add at least one agent', [...roster.names])
  if (agents.length > max_agents) {
    throw invalidInput(
      `\`agents\` has ${agents.length} entries, but \`limits.max_agents\` is ${max_agents}`,
      'remove agents, or raise `limits.max_agents`',
    )
  }
  const names = agents.map(specialistName)
  const duplicate = names.find((name, index) => names.indexOf(name) !== index)
  if (duplicate !== undefined)
    throw invalidInput(`\`agents\` has the name '${duplicate}' twice`, 'give each agent its own name')
  for (const entry of agents) {
    if (typeof entry === 'string') checkAgentName(roster, entry)
    else {
      if (!roster.has(entry.name)) requireAgentName(entry.name, '`agents[].name`')
      checkAgentConfig(entry.name, entry.config)
    }
  }
  checkAgentConfig('the coordinator', input.coordinator_config)
  if (mode === 'hierarchical' && agents.length < 2) {
    throw invalidInput(
      '`mode: hierarchical` needs at least two agents',
      'add a specialist: the first agent is the coordinator',
    )
  }
  const unknown = Object.keys(input.weights ?? {}).find(
    (name) => !names.includes(name) && !agents.some((entry) => specialistRole(entry, roster) === name),
  )
  if (unknown !== undefined)
    throw invalidInput(`\`weights\` has the unknown name or role '${unknown}'`, 'use a name or role of `agents`', names)
}

/** A name that resembles none of the roster is probably meant as a new specialist. */
function checkAgentName({ names, has }: Roster, name: string): void {
  if (has(name)) return
  const error = unknownNameError('unknown_agent', { kind: 'agent', name, known: names })
  if (didYouMean(name, names) !== '') throw error
  const { code, message, hint, alternatives } = error
  const definition = `to define it in the call, write an object in \`agents\`: { name: '${name}' }`
  throw new TroupeError(code, message, { alternatives, hint: `${hint}; ${definition}` })
}

function checkVote({ mode, synthesis, structured, categories, vote }: CollaborateInput): void {
  const normalized = (categories ?? []).map(normalizeStatement)
  const duplicate = normalized.findIndex((category, index) => normalized.indexOf(category) !== index)
  if (duplicate >= 0) {
    const [one, other] = [categories?.[normalized.indexOf(normalized[duplicate] ?? '')], categories?.[duplicate]]
    throw invalidInput(
      `\`categories\` '${one}' and '${other}' are the same`,
      'use categories that differ in more than case, punctuation and filler words',
    )
  }
  if (synthesis === 'vote' && !structured && !categories) {
    throw invalidInput(
      '`synthesis: vote` needs `structured` answers or `categories`',
      'set `structured: true`, or list `categories`',
    )
  }
  if (mode !== 'parallel' && (vote?.stop_at !== undefined || vote?.wave !== undefined)) {
    throw invalidInput(
      `\`vote.stop_at\` and \`vote.wave\` cannot be combined with \`mode: ${mode}\``,
      'remove `vote.stop_at` and `vote.wave`, or use `mode: parallel`',
    )
  }
}

function invalidInput(message: string, hint: string, alternatives: string[] = []): TroupeError {
  return new TroupeError('invalid_input', message, { hint, alternatives })
}
