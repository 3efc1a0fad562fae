import { TroupeError } from '../../errors.ts'
import type { Agent, AgentOrigin } from '../../kernel/agent.ts'
import type { Roster } from '../../kernel/roster.ts'
import type { AgentConfig, CollaborateConfig, CollaborateInput, SpecialistEntry } from './input.ts'
import { milliseconds } from './input.ts'
import { PREAMBLE } from './prompts.ts'

/** One who is asked: who it is, and what it was asked to look at. */
export interface Specialist {
  name: string
  role: string
  focus: string
  /** What it is told beyond the shared part. */
  instructions: string
  agent: Agent
}

export interface Bounds {
  max_agents: number
  max_parallel: number
  timeout_ms: number
}

/** A call may ask for less than the troupe allows; whoever starts a run may also ask for more. */
export function boundsOf(config: CollaborateConfig, input: CollaborateInput, byModel: boolean): Bounds {
  const allowed = {
    max_agents: config.max_agents,
    max_parallel: config.max_parallel,
    timeout_ms: milliseconds(config.agent_timeout) ?? 300_000,
  }
  const { max_agents, max_parallel, agent_timeout } = input.limits ?? {}
  const asked = { max_agents, max_parallel, timeout_ms: agent_timeout && milliseconds(agent_timeout) }
  const pick = (name: keyof Bounds) => {
    const wanted = asked[name] || allowed[name]
    return byModel ? Math.min(wanted, allowed[name]) : wanted
  }
  return { max_agents: pick('max_agents'), max_parallel: pick('max_parallel'), timeout_ms: pick('timeout_ms') }
}

/** Throws on what cannot work, before anything is paid for. */
export function checkAgents(roster: Roster, input: CollaborateInput, bounds: Pick<Bounds, 'max_agents'>): void {
  const { agents, mode } = input
  if (input.task.trim() === '') throw bad('the task is empty', 'say what the agents should work on')
  if (agents.length === 0) throw bad('there are no agents', 'name at least one', [...roster.names])
  if (agents.length > bounds.max_agents) {
    throw bad(
      `${agents.length} agents are more than max_agents ${bounds.max_agents}`,
      'leave some out, or raise limits.max_agents',
    )
  }
  const names = agents.map(nameOf)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw bad(`two agents are called '${twice}'`, 'give each a name of its own')
  for (const entry of agents) if (typeof entry === 'string') roster.get(entry)
  if (mode === 'hierarchical' && agents.length < 2) {
    throw bad(
      'there is nobody to divide the work among',
      'hierarchical needs a coordinator and at least one specialist',
    )
  }
  const unknown = Object.keys(input.weights ?? {}).find(
    (name) => !names.includes(name) && !agents.some((entry) => roleOf(entry, roster) === name),
  )
  if (unknown !== undefined)
    throw bad(`the weight of '${unknown}' is nobody's`, 'weights are by role or by name', names)
}

export function specialistsOf(
  roster: Roster,
  entries: readonly SpecialistEntry[],
  options: { timeout_ms: number; origin: AgentOrigin },
): Specialist[] {
  return entries.map((entry) => {
    const inline = typeof entry === 'string' ? { name: entry } : entry
    const known = roster.has(inline.name) ? roster.get(inline.name) : undefined
    const { config, focus = '' } = inline as Exclude<SpecialistEntry, string>
    const base: Agent = known ?? { name: inline.name, description: '', instructions: '', origin: options.origin }
    const agent = configured(base, config, options.origin)
    return {
      name: inline.name,
      role: roleOf(entry, roster),
      focus,
      instructions: config?.system_prompt ?? known?.instructions ?? '',
      // What differs between them is said last: providers cache requests that begin alike.
      agent: {
        ...agent,
        instructions: PREAMBLE,
        timeout_ms: Math.min(agent.timeout_ms ?? Number.POSITIVE_INFINITY, options.timeout_ms),
      },
    }
  })
}

/** An agent for the work on the answers: it has no tools. Without a model it uses that of the run, or the role general. */
export function clerk(
  name: string,
  { told, ...options }: { model?: string; temperature: number; timeout_ms: number; told?: string | undefined },
): Agent {
  const instructions = told === undefined ? PREAMBLE : `${PREAMBLE}\n\n${told}`
  return { name, description: `${name} of a collaboration`, instructions, ...options, tools: [] }
}

/** Model and temperature of a configuration as other hosts write it; `source` is kept in the run's input, never fetched. */
export function modelOf(config: AgentConfig | undefined): { model?: string; temperature?: number } {
  const [provider] = config?.providers ?? []
  const family = provider?.module.replace(/^provider-/, '')
  const id = provider?.config?.model
  const model = config?.model ?? (id === undefined ? undefined : id.includes('/') ? id : `${family}/${id}`)
  const temperature = config?.temperature ?? provider?.config?.temperature
  return {
    ...(model === undefined ? undefined : { model }),
    ...(temperature === undefined ? undefined : { temperature }),
  }
}

/** When a model wrote the call, what it says of a known agent's tools can only narrow them. */
function configured(base: Agent, config: AgentConfig | undefined, origin: AgentOrigin): Agent {
  const { tools, ...kept } = { ...base, ...modelOf(config) }
  const named = config?.tools?.map((tool) => (typeof tool === 'string' ? tool : tool.module))
  if (!named) return { ...base, ...kept }
  if (origin.by === 'user') return { ...kept, tools: named }
  if (tools) return { ...kept, tools: named.filter((name) => tools.includes(name)) }
  return { ...kept, tools: named, origin }
}

function nameOf(entry: SpecialistEntry): string {
  return typeof entry === 'string' ? entry : entry.name
}

function roleOf(entry: SpecialistEntry, roster: Roster): string {
  if (typeof entry !== 'string' && entry.role !== undefined) return entry.role
  return roster.has(nameOf(entry)) ? nameOf(entry) : 'specialist'
}

function bad(message: string, hint: string, alternatives: string[] = []): TroupeError {
  return new TroupeError('invalid_input', message, { hint, alternatives })
}
