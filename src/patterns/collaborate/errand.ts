import { asTroupeError } from '../../errors.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context, PerformRequest } from '../../kernel/context.ts'
import { isFatal } from '../../kernel/fatal.ts'
import type { SessionResult } from '../../kernel/session.ts'

/** Work on what the specialists said. */
export interface Errand {
  agent: Agent | undefined
  request: PerformRequest
  key: string
}

/** Carries an errand out. One that is refused must not take with it what the specialists were paid for. */
export async function errand(
  context: Context,
  { agent, request, key }: Errand,
): Promise<SessionResult | { why: string }> {
  try {
    return await context.perform(agent, request, { key })
  } catch (thrown) {
    const error = asTroupeError(thrown)
    if (isFatal(error)) throw error
    return { why: error.message }
  }
}
