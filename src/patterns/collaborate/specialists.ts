import type { Agent, AgentOrigin } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import type { Roster } from '../../kernel/roster.ts'
import { applyAgentConfig, configWarnings, findMissingModels } from './input/agent-config.ts'
import type { CollaborateConfig } from './input/collaborate-config.ts'
import type { CollaborateInput, collaborateModes, SpecialistEntry } from './input/input.ts'
import { SPECIALIST_SYSTEM } from './prompts/specialist-prompt.ts'
import { parseDuration } from './view/duration.ts'

/** A participant of a collaboration. */
export interface Specialist {
  name: string
  role: string
  focus: string
  /** Added to its prompt after the shared part. */
  instructions: string
  agent: Agent
  /** Set for an agent that is defined in the call without `tools`. */
  readOnly?: true
  /** Ignored parts of its configuration. */
  warnings?: string[]
}

export interface CollaborationLimits {
  max_agents: number
  max_parallel: number
  timeout_ms: number
}

/** Applies `limits`: a model that calls the tool can only lower the configured limits, the starter of a run can raise them. */
export function effectiveLimits(
  config: CollaborateConfig,
  input: CollaborateInput,
  byModel: boolean,
): CollaborationLimits {
  const allowed = {
    max_agents: config.max_agents,
    max_parallel: config.max_parallel,
    timeout_ms: parseDuration(config.agent_timeout) ?? 300_000,
  }
  const { max_agents, max_parallel, agent_timeout } = input.limits ?? {}
  const requested = { max_agents, max_parallel, timeout_ms: agent_timeout && parseDuration(agent_timeout) }
  const pick = (name: keyof CollaborationLimits) => {
    const limit = requested[name] || allowed[name]
    return byModel ? Math.min(limit, allowed[name]) : limit
  }
  return { max_agents: pick('max_agents'), max_parallel: pick('max_parallel'), timeout_ms: pick('timeout_ms') }
}

/** Resolves the entries of `agents`. Call it within a step: roster, tools and models can change before a resume. */
export async function resolveSpecialists(
  context: Context,
  entries: readonly SpecialistEntry[],
  options: { timeout_ms: number; origin: AgentOrigin; mode: (typeof collaborateModes)[number] },
): Promise<Specialist[]> {
  const { roster } = context
  const { origin, timeout_ms, mode } = options
  const configs = entries.map((entry) => (typeof entry === 'string' ? undefined : entry.config))
  const missingModels = await findMissingModels(context, configs)
  return entries.map((entry, index) => {
    const name = specialistName(entry)
    const config = configs[index]
    const known = roster.has(name) ? roster.get(name) : undefined
    const base: Agent = known ?? { name, description: '', instructions: '', origin }
    const agent = applyAgentConfig(base, config, { origin, missingModels })
    const warnings = configWarnings(context, config, missingModels).map((warning) => `config of ${name}: ${warning}`)
    return {
      name,
      role: specialistRole(entry, roster),
      focus: (typeof entry === 'string' ? undefined : entry.focus) ?? '',
      instructions: config?.system_prompt ?? known?.instructions ?? '',
      // Prompt caching: the system prompt is the same for all, individual instructions come last.
      agent: {
        ...agent,
        instructions: SPECIALIST_SYSTEM[mode],
        timeout_ms: Math.min(agent.timeout_ms ?? Number.POSITIVE_INFINITY, timeout_ms),
      },
      ...(known || config?.tools ? undefined : { readOnly: true as const }),
      ...(warnings.length > 0 ? { warnings } : undefined),
    }
  })
}

/** A system agent (coordinator, evaluator, judge, extractor) without tools. Without a model it uses the run's, or the role general. */
export function createSystemAgent(
  name: string,
  {
    system,
    systemPrompt,
    ...options
  }: { system: string; model?: string; temperature: number; timeout_ms: number; systemPrompt?: string | undefined },
): Agent {
  const instructions = systemPrompt === undefined ? system : `${system}\n\n${systemPrompt}`
  return { name, description: `${name} of a collaboration`, instructions, ...options, tools: [] }
}

export function specialistName(entry: SpecialistEntry): string {
  return typeof entry === 'string' ? entry : entry.name
}

export function specialistRole(entry: SpecialistEntry, roster: Roster): string {
  if (typeof entry !== 'string' && entry.role !== undefined) return entry.role
  return roster.has(specialistName(entry)) ? specialistName(entry) : 'specialist'
}
