import type { Agent, AgentOrigin } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import type { Roster } from '../../kernel/roster.ts'
import { applyAgentConfig, configWarnings, findMissingModels } from './agent-config.ts'
import type { CollaborateConfig } from './collaborate-config.ts'
import { parseDuration } from './duration.ts'
import type { CollaborateInput, SpecialistEntry } from './input.ts'
import { PREAMBLE } from './prompts.ts'

/** One who is asked: who it is, and what it was asked to look at. */
export interface Specialist {
  name: string
  role: string
  focus: string
  /** What it is told beyond the shared part. */
  instructions: string
  agent: Agent
  /** It was made for this, and nobody said what it may do: it looks, and does nothing. */
  readOnly?: true
  /** What of its configuration is not followed. */
  remarks?: string[]
}

export interface CollaborationLimits {
  max_agents: number
  max_parallel: number
  timeout_ms: number
}

/** A call may ask for less than the troupe allows; whoever starts a run may also ask for more. */
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
  const asked = { max_agents, max_parallel, timeout_ms: agent_timeout && parseDuration(agent_timeout) }
  const pick = (name: keyof CollaborationLimits) => {
    const wanted = asked[name] || allowed[name]
    return byModel ? Math.min(wanted, allowed[name]) : wanted
  }
  return { max_agents: pick('max_agents'), max_parallel: pick('max_parallel'), timeout_ms: pick('timeout_ms') }
}

/** Who is asked, with what they are. Within a step only: roster, tools and models may be others when the run goes on. */
export async function resolveSpecialists(
  context: Context,
  entries: readonly SpecialistEntry[],
  options: { timeout_ms: number; origin: AgentOrigin },
): Promise<Specialist[]> {
  const { roster } = context
  const { origin, timeout_ms } = options
  const configs = entries.map((entry) => (typeof entry === 'string' ? undefined : entry.config))
  const missingModels = await findMissingModels(context, configs)
  return entries.map((entry, index) => {
    const name = specialistName(entry)
    const config = configs[index]
    const known = roster.has(name) ? roster.get(name) : undefined
    const base: Agent = known ?? { name, description: '', instructions: '', origin }
    const agent = applyAgentConfig(base, config, { origin, missingModels })
    const remarks = configWarnings(context, config, missingModels).map((remark) => `config of ${name}: ${remark}`)
    return {
      name,
      role: specialistRole(entry, roster),
      focus: (typeof entry === 'string' ? undefined : entry.focus) ?? '',
      instructions: config?.system_prompt ?? known?.instructions ?? '',
      // What differs between them is said last: providers cache requests that begin alike.
      agent: {
        ...agent,
        instructions: PREAMBLE,
        timeout_ms: Math.min(agent.timeout_ms ?? Number.POSITIVE_INFINITY, timeout_ms),
      },
      ...(known || config?.tools ? undefined : { readOnly: true as const }),
      ...(remarks.length > 0 ? { remarks } : undefined),
    }
  })
}

/** An agent for the work on the answers: it has no tools. Without a model it uses that of the run, or the role general. */
export function createSystemAgent(
  name: string,
  { told, ...options }: { model?: string; temperature: number; timeout_ms: number; told?: string | undefined },
): Agent {
  const instructions = told === undefined ? PREAMBLE : `${PREAMBLE}\n\n${told}`
  return { name, description: `${name} of a collaboration`, instructions, ...options, tools: [] }
}

export function specialistName(entry: SpecialistEntry): string {
  return typeof entry === 'string' ? entry : entry.name
}

export function specialistRole(entry: SpecialistEntry, roster: Roster): string {
  if (typeof entry !== 'string' && entry.role !== undefined) return entry.role
  return roster.has(specialistName(entry)) ? specialistName(entry) : 'specialist'
}
