import { TroupeError } from '../../errors.ts'
import type { ParsedExchange } from '../../judgement/loop/new-information.ts'
import { findSameAnswer, parseExchange } from '../../judgement/loop/new-information.ts'
import { isOutsideFailure, isWaiting } from '../../judgement/loop/outside-failure.ts'
import { namesDiffer, parseText, subjectWords } from '../../judgement/loop/same-subject.ts'
import type { Message, ToolResultPart } from '../../kernel/model.ts'

/*
 * An agent that delegates the same again and again, and gets the same back.
 * 1. Only delegations in a row count: another tool call, or a message of a person, may have changed what the next one finds.
 * 2. The same words for another file, number or name are another instruction. Calls of one turn run in parallel and are not compared.
 * 3. Errors, failures of the outside world and work that is not finished do not count: a retry or another look is right.
 */

/** Equal delegations with the same result before one more is refused. */
const MAX_REPEATS = 2
const MIN_WORDS = 5
const MAX_QUOTED = 1000

interface Delegation {
  agent: string
  instruction: string
}

/** Throws `invalid_input`, with the result that is known, when the caller delegates once more what brought nothing new. */
export function refuseRepeatedDelegation(
  messages: readonly Message[],
  { agent, instruction }: Delegation,
  names: readonly string[],
): void {
  const wanted = parseText(instruction)
  if (wanted.words.size < MIN_WORDS) return
  const earlier: ParsedExchange[] = []
  let repeats = 0
  let known = ''
  for (const { call, result } of delegationsInARow(messages, names)) {
    const text = responseText(result)
    const given = parseText(call.instruction)
    const isOther = call.agent !== agent || namesDiffer(given, wanted)
    if (isOther || subjectWords(given, wanted).length > 0 || subjectWords(wanted, given).length > 0) continue
    if (result.is_error || isOutsideFailure(text) || isWaiting(text)) continue
    const exchange = parseExchange({ question: call.instruction, answer: text })
    repeats = findSameAnswer(exchange, earlier) ? repeats + 1 : 1
    earlier.push(exchange)
    known = text
  }
  if (repeats < MAX_REPEATS) return
  throw new TroupeError(
    'invalid_input',
    `\`instruction\`: ${agent} did this ${repeats} times in a row with the same result: ${known.slice(0, MAX_QUOTED)}`,
    {
      hint: 'use this result, or change `instruction`: say what is missing in the result or what should be done differently',
    },
  )
}

/** The latest delegations with their results, oldest first, with no other tool call or message of a person in between. */
function delegationsInARow(
  messages: readonly Message[],
  names: readonly string[],
): { call: Delegation; result: ToolResultPart }[] {
  const results = new Map<string, ToolResultPart>()
  for (const message of messages)
    if (message.role === 'tool') for (const part of message.content) results.set(part.id, part)
  const start = messages.findLastIndex(
    ({ role, content }) =>
      role === 'user' || content.some((part) => part.type === 'tool-call' && !names.includes(part.name)),
  )
  return messages.slice(start + 1).flatMap(({ content }) =>
    content.flatMap((part) => {
      if (part.type !== 'tool-call') return []
      const { agent, instruction, session_id } = (part.input ?? {}) as Record<string, unknown>
      const result = results.get(part.id)
      if (!result || typeof agent !== 'string' || typeof instruction !== 'string' || session_id !== undefined) return []
      return [{ call: { agent, instruction }, result }]
    }),
  )
}

/** The answer of the agent, without ids and counts that differ each time. */
function responseText({ text }: ToolResultPart): string {
  try {
    const { response, status } = JSON.parse(text) as { response?: unknown; status?: unknown }
    return typeof response === 'string' ? response : String(status ?? '')
  } catch {
    return text
  }
}
