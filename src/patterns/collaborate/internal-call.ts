import { toTroupeError } from '../../errors.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context, PerformRequest } from '../../kernel/context.ts'
import { isFatal } from '../../kernel/journal/fatal-error.ts'
import type { SessionResult } from '../../kernel/session-result.ts'

/** A call of a system agent: coordinator, evaluator or judge. */
export interface InternalCall {
  agent: Agent | undefined
  request: PerformRequest
  key: string
}

/** Runs a system agent. Its failure is returned, not thrown: it must not lose the contributions. */
export async function runInternalCall(
  context: Context,
  { agent, request, key }: InternalCall,
): Promise<SessionResult | { failure: string }> {
  try {
    return await context.perform(agent, request, { key })
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (isFatal(error)) throw error
    return { failure: error.message }
  }
}
