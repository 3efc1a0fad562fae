import { TroupeError } from '../../errors.ts'
import { normalizeStatement } from '../../judgement/similarity/similarity.ts'
import type { Roster } from '../../kernel/roster.ts'
import { checkAgentConfig } from './agent-config.ts'
import type { CollaborateInput } from './input.ts'
import type { CollaborationLimits } from './specialists.ts'
import { specialistName, specialistRole } from './specialists.ts'

/** Throws on what cannot work, before anything is paid for. */
export function checkCollaborateInput(
  roster: Roster,
  input: CollaborateInput,
  bounds: Pick<CollaborationLimits, 'max_agents'>,
): void {
  if (input.task.trim() === '') throw invalidInput('the task is empty', 'say what the agents should work on')
  checkAgents(roster, input, bounds)
  checkVote(input)
  if (input.solo_first && input.mode === 'hierarchical') {
    throw invalidInput(
      'solo_first asks one agent alone, and in hierarchical mode the first divides the work',
      'leave one out',
    )
  }
}

function checkAgents(
  roster: Roster,
  input: CollaborateInput,
  { max_agents }: Pick<CollaborationLimits, 'max_agents'>,
): void {
  const { agents, mode } = input
  if (agents.length === 0) throw invalidInput('there are no agents', 'name at least one', [...roster.names])
  if (agents.length > max_agents) {
    throw invalidInput(
      `${agents.length} agents are more than max_agents ${max_agents}`,
      'leave some out, or raise limits.max_agents',
    )
  }
  const names = agents.map(specialistName)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw invalidInput(`two agents are called '${twice}'`, 'give each a name of its own')
  for (const entry of agents) {
    if (typeof entry === 'string') roster.get(entry)
    else checkAgentConfig(entry.name, entry.config)
  }
  checkAgentConfig('the coordinator', input.coordinator_config)
  if (mode === 'hierarchical' && agents.length < 2) {
    throw invalidInput(
      'there is nobody to divide the work among',
      'hierarchical needs a coordinator and at least one specialist',
    )
  }
  const unknown = Object.keys(input.weights ?? {}).find(
    (name) => !names.includes(name) && !agents.some((entry) => specialistRole(entry, roster) === name),
  )
  if (unknown !== undefined)
    throw invalidInput(`the weight of '${unknown}' is nobody's`, 'weights are by role or by name', names)
}

function checkVote({ mode, synthesis, structured, categories, vote }: CollaborateInput): void {
  const said = (categories ?? []).map(normalizeStatement)
  const twice = said.findIndex((category, index) => said.indexOf(category) !== index)
  if (twice >= 0) {
    const [one, other] = [categories?.[said.indexOf(said[twice] ?? '')], categories?.[twice]]
    throw invalidInput(
      `the categories '${one}' and '${other}' are the same`,
      'case, punctuation and filler words do not count',
    )
  }
  if (synthesis === 'vote' && !structured && !categories) {
    throw invalidInput(
      'there is nothing to count',
      'a vote needs structured answers, or categories that prose can name',
    )
  }
  if (mode !== 'parallel' && (vote?.stop_at !== undefined || vote?.wave !== undefined)) {
    throw invalidInput(
      `in ${mode} mode nobody is asked in waves`,
      'leave vote.stop_at and vote.wave out, or use mode parallel',
    )
  }
}

function invalidInput(message: string, hint: string, alternatives: string[] = []): TroupeError {
  return new TroupeError('invalid_input', message, { hint, alternatives })
}
