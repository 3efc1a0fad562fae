import { TroupeError } from '../../errors.ts'
import type { StopReason } from '../../kernel/event.ts'
import { textFrom } from '../../kernel/model.ts'
import type { SessionState } from '../../kernel/session/session-state.ts'
import { lastText } from '../../kernel/session/session-state.ts'
import type { TurnEnd, TurnScope } from '../../kernel/session/turn-scope.ts'
import type { MissingAnswer } from './missing-answer.ts'
import { missingAnswer } from './missing-answer.ts'

const MAX_EXCERPT_CHARS = 80

interface LastMessage {
  turnKey: string
  missing: MissingAnswer
  stop_reason: StopReason
}

/**
 * The end of a session whose last message has no answer although it was asked for one again: its last answer in words, or a failure. Only
 * an object is an answer where one was requested.
 */
export function toMissingAnswerEnd(
  { session, output, allowText }: Pick<TurnScope, 'session' | 'output' | 'allowText'>,
  { turnKey, missing, stop_reason }: LastMessage,
): TurnEnd {
  const text = lastAnswer(session)
  if (text !== '' && (!output || allowText)) return { stop_reason, text, error: null }
  const { name } = session.opening.agent
  const { fact, hint } = describe(missing, excerpt(lastText(session)))
  const error = new TroupeError('model_invalid_response', `${name} ${fact} (stop_reason ${stop_reason})`, {
    hint,
    step: `${turnKey}/model`,
  })
  return { stop_reason, text, error }
}

/** The newest text since the last instruction that is an answer. */
function lastAnswer({ messages, responseStart }: SessionState): string {
  const texts = messages
    .slice(responseStart)
    .flatMap((message) => (message.role === 'assistant' ? [textFrom(message)] : []))
  return texts.findLast((text) => missingAnswer(text) === undefined) ?? ''
}

function describe(missing: MissingAnswer, last: string): { fact: string; hint: string } {
  if (missing === 'tool-call') {
    return {
      fact: `wrote a tool call as text instead of an answer: ${last}`,
      hint: 'choose a `model` that supports tools, or enable the tool-call parser of the server',
    }
  }
  if (missing === 'marks') {
    return {
      fact: `gave no answer, only marks of a chat template: ${last}`,
      hint: 'check the chat template of the server, or choose another `model`',
    }
  }
  return {
    fact: 'gave an empty answer',
    hint: 'resume to request the final answer again; for more turns raise `max_turns` of the agent or `limits.turns`',
  }
}

function excerpt(text: string): string {
  const line = text.trim().slice(0, 400).replaceAll(/\s+/g, ' ')
  return line.length > MAX_EXCERPT_CHARS ? `${line.slice(0, MAX_EXCERPT_CHARS - 1).toWellFormed()}…` : line
}
