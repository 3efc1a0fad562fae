import type { Agent } from '../../kernel/agent.ts'
import type { Context, PerformRequest } from '../../kernel/context.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import type { ConsultConfig } from './consult-config.ts'

const MISSING_MODEL_CODES = new Set(['unknown_model', 'no_model'])

/** A call of the orchestrator: its instructions, and what it is asked. */
export interface OrchestratorCall extends Pick<PerformRequest, 'instruction' | 'output'> {
  key: string
  /** The name under which the call appears, such as `orchestrator`. */
  name?: string
  system: string
}

/** One model call of the orchestrator, without tools: `orchestrator.model`, or the model of the run if that role has none. */
export async function callOrchestrator(
  context: Context,
  { orchestrator: { model, temperature } }: Pick<ConsultConfig, 'orchestrator'>,
  { key, name = 'orchestrator', system, instruction, output }: OrchestratorCall,
): Promise<SessionResult> {
  const agent: Agent = { name, description: 'Routes consultations', instructions: system, temperature, tools: [] }
  const request: PerformRequest = {
    instruction,
    internal: true,
    allowText: true,
    ...(output === undefined ? undefined : { output }),
  }
  const result = await context.perform({ ...agent, model }, request, { key })
  const isMissing = result.error !== null && MISSING_MODEL_CODES.has(result.error.code)
  return isMissing ? context.perform(agent, request, { key: `${key}/fallback` }) : result
}
