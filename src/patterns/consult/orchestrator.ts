import type { Agent } from '../../kernel/agent.ts'
import type { ConsultConfig } from './consult-config.ts'

/** Who answers a request to the orchestrator, without tools: `orchestrator.model`, or the model of the run if that role has none. */
export function orchestratorFor(
  { orchestrator: { model, temperature } }: Pick<ConsultConfig, 'orchestrator'>,
  system: string,
) {
  const description = 'Routes consultations'
  const agent: Agent = { name: 'orchestrator', description, instructions: system, temperature, tools: [] }
  return { agent, preferredModel: model, internal: true, keep: true, allowText: true } as const
}
