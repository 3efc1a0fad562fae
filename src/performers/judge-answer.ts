import { TroupeError } from '../errors.ts'
import type { TurnEnd } from '../kernel/session/turn-scope.ts'
import { parseStructuredOutput } from '../requests/structured-output.ts'
import type { Schema } from '../schema/standard-schema.ts'
import type { GuardedSession } from './guardrails.ts'
import { guardAnswer, isGuarded } from './guardrails.ts'

export interface AnswerScope extends GuardedSession {
  output: Schema | undefined
  allowText: boolean
}

/** Asks `beforeAnswer` hooks. They may replace the answer, which then has to match the output schema too. */
export async function judgeAnswer(
  scope: AnswerScope,
  key: string,
  end: TurnEnd,
): Promise<TurnEnd | { rejection: string }> {
  const { session } = scope
  if (!isGuarded(scope, 'beforeAnswer', key)) return end
  // Until it is accepted, and after it was rejected, the answer is no partial result that a failure could return.
  session.responseStart = session.messages.length
  const { text, object } = end
  const verdict = await guardAnswer(scope, key, { text, ...(object === undefined ? undefined : { object }) })
  if (verdict.deny !== undefined) return { rejection: verdict.deny }
  if (verdict.text === undefined) return end
  const { object: _replaced, ...rest } = end
  return { ...rest, text: verdict.text, ...replacedObject(scope, key, verdict.text) }
}

function replacedObject({ output, allowText }: AnswerScope, key: string, text: string): { object?: unknown } {
  if (text.trim() === '') throw unusableAnswerError(key, 'it is empty')
  if (!output) return {}
  const parsed = parseStructuredOutput(output, text)
  if (parsed.ok) return { object: parsed.object }
  if (allowText) return {}
  throw unusableAnswerError(key, parsed.reason)
}

function unusableAnswerError(step: string, problem: string): TroupeError {
  return new TroupeError('hook_failed', `the answer that a hook's beforeAnswer returned cannot be used: ${problem}`, {
    hint: '`hooks[].beforeAnswer` must return a text, which matches the `output` schema if there is one',
    step,
  })
}

export function toRejectedEnd(step: string, reason: string): TurnEnd {
  const error = new TroupeError('denied', `a hook rejected the final answer: ${reason}`, {
    hint: '`hooks[].beforeAnswer` decides this; a resumed run asks it again about the last answer',
    step,
  })
  return { stop_reason: 'failed', text: '', error }
}
