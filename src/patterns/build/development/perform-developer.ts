import { errorFromRecord, toTroupeError } from '../../../errors.ts'
import type { Agent } from '../../../kernel/agent.ts'
import type { PerformRequest } from '../../../kernel/context.ts'
import { isFatal } from '../../../kernel/journal/fatal-error.ts'
import { isResumableFailure } from '../../../kernel/resumable-failure.ts'
import type { SessionResult } from '../../../kernel/session-result.ts'
import type { BuildScope } from '../build-scope.ts'

const NO_USAGE = { input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0, calls: 0 }

/** Runs an agent's session. A session that cannot even be opened is a failed one: it must not lose the work of the others. */
export async function performDeveloper(
  { context }: Pick<BuildScope, 'context'>,
  agent: Agent,
  { key, request }: { key: string; request: PerformRequest },
): Promise<SessionResult> {
  try {
    const result = await context.perform(agent, request, { key })
    // The architect cannot decide about an outage, and an abort would remove the work: the run fails, and resume repeats the request.
    if (result.error && isResumableFailure(result.error)) throw errorFromRecord(result.error)
    const hasNoStructuredOutput = result.error?.code === 'model_unsupported' && request.output !== undefined
    if (!hasNoStructuredOutput) return result
    // The provider knows no structured output: the prompt asks for the same object in words.
    const { output: _output, allowText: _allowText, ...textRequest } = request
    return await context.perform(agent, textRequest, { key: `${key}/text` })
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (isFatal(error) || (isResumableFailure(error) && error.step !== undefined)) throw error
    const failed = { status: 'failed', stop_reason: 'failed', text: '', turn_count: 0, error: error.toJSON() } as const
    return { session_id: '', agent: agent.name, ...failed, usage: NO_USAGE }
  }
}
