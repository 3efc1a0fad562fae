import { canonicalJson } from '../../kernel/hash.ts'
import type { AssistantMessage, Message, ToolMessage } from '../../kernel/model.ts'
import { toolCallsFrom } from '../../kernel/model.ts'

/** The same calls with the same errors, turn after turn, do not get better: the agent has to answer without them. */
export const MAX_IDENTICAL_FAILURES = 3

/** How many turns at the end of a conversation made the same tool calls and got the same errors. */
export function identicalFailures(messages: readonly Message[]): number {
  let count = 0
  let previous: string | undefined
  for (let end = messages.length; end >= 2; end -= 2) {
    const [response, results] = [messages[end - 2], messages[end - 1]]
    if (response?.role !== 'assistant' || results?.role !== 'tool') return count
    const failed = failedCalls(response, results)
    if (failed === undefined || (previous !== undefined && failed !== previous)) return count
    previous = failed
    count += 1
  }
  return count
}

/** The calls of a turn and their errors as text; `undefined` if one of them succeeded. */
function failedCalls(response: AssistantMessage, { content }: ToolMessage): string | undefined {
  if (content.length === 0 || content.some(({ is_error }) => !is_error)) return undefined
  const calls = toolCallsFrom(response).map(({ name, input }) => ({ name, input }))
  return canonicalJson({ calls, errors: content.map(({ text }) => text) })
}
