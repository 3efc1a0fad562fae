import { toTroupeError } from '../../errors.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context, PerformRequest } from '../../kernel/context.ts'
import { isFatal } from '../../kernel/journal/fatal-error.ts'
import type { SessionResult } from '../../kernel/session-result.ts'

/** Work on what the specialists said. */
export interface InternalCall {
  agent: Agent | undefined
  request: PerformRequest
  key: string
}

/** Carries an errand out. One that is refused must not take with it what the specialists were paid for. */
export async function runInternalCall(
  context: Context,
  { agent, request, key }: InternalCall,
): Promise<SessionResult | { why: string }> {
  try {
    return await context.perform(agent, request, { key })
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (isFatal(error)) throw error
    return { why: error.message }
  }
}
