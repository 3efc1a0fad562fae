import { TroupeError } from '../../errors.ts'
import type { ParsedExchange } from '../../judgement/loop/new-information.ts'
import { findSameAnswer, parseExchange } from '../../judgement/loop/new-information.ts'
import { namesDiffer, parseText, subjectWords } from '../../judgement/loop/same-subject.ts'
import type { Message, ToolResultPart } from '../../kernel/model.ts'

/*
 * An agent that delegates the same again and again, and gets the same back: first advice with the result, then a refusal.
 * 1. Only delegations in a row count: another tool call, or a message of a person, may have changed what the next one finds.
 * 2. The same words for another file, number, name, model or context are another delegation. Calls of one turn run in parallel and count once.
 * 3. Errors, failures of the outside world and work that is not finished do not count: a retry or another look is right.
 */

/** Equal delegations with the same result before one more is refused. */
const MAX_REPEATS = 2
const MIN_WORDS = 5
const MAX_QUOTED = 1000

export interface Delegation {
  agent: string
  instruction: string
  model?: string | undefined
  context_depth?: string | undefined
}

/** What the caller got for the same delegation in the turns before. */
export interface EarlierDelegations {
  /** Turns in a row with the same result. */
  repeats: number
  /** The latest result. */
  known: string
  exchanges: readonly ParsedExchange[]
}

/** The earlier turns in which the caller delegated the same. `names` are those of the tool. */
export function findEarlierDelegations(
  messages: readonly Message[],
  wanted: Delegation,
  names: readonly string[],
): EarlierDelegations {
  const isSame = sameDelegation(wanted)
  const exchanges: ParsedExchange[] = []
  let repeats = 0
  let known = ''
  for (const turn of delegationsByTurn(messages, names)) {
    const same = turn.filter(({ call }) => isSame(call)).map(({ call, result }) => ({ call, ...readResult(result) }))
    const [latest] = same.slice(-1)
    if (!latest || same.some(({ isFinished }) => !isFinished)) continue
    const found = same.map(({ call, text }) => parseExchange({ question: call.instruction, answer: text }))
    repeats = found.every((exchange) => findSameAnswer(exchange, exchanges)) ? repeats + 1 : 1
    exchanges.push(...found)
    known = latest.text
  }
  return { repeats, known, exchanges }
}

/** Throws `invalid_input`, with the result that is known, when the caller delegates once more what brought nothing new. */
export function refuseRepeatedDelegation({ repeats, known }: EarlierDelegations, agent: string): void {
  if (repeats < MAX_REPEATS) return
  throw new TroupeError(
    'invalid_input',
    `\`instruction\`: ${agent} did this ${repeats} times in a row with the same result: ${known.slice(0, MAX_QUOTED)}`,
    {
      hint: 'use this result, or change `instruction`: say what is missing in the result or what should be done differently',
    },
  )
}

/** Advice for the caller, if the response brought nothing new: one more delegation of the same is refused. */
export function adviceOnRepetition(
  { exchanges }: EarlierDelegations,
  instruction: string,
  response: string,
): string | undefined {
  if (exchanges.length === 0 || isOutsideFailure(response) || isWaiting(response)) return undefined
  if (!findSameAnswer(parseExchange({ question: instruction, answer: response }), exchanges)) return undefined
  return 'You had this result before. Do not delegate the same again: use it, or say what is missing in it or what should be done differently.'
}

/** Tells whether a call delegates the same; short instructions, such as "go on", never do. */
function sameDelegation({
  agent,
  instruction,
  model,
  context_depth = 'none',
}: Delegation): (call: Delegation) => boolean {
  const wanted = parseText(instruction)
  return (call) => {
    if (call.agent !== agent || call.model !== model || (call.context_depth ?? 'none') !== context_depth) return false
    const given = parseText(call.instruction)
    if (wanted.words.size < MIN_WORDS || namesDiffer(given, wanted)) return false
    return subjectWords(given, wanted).length === 0 && subjectWords(wanted, given).length === 0
  }
}

interface FinishedDelegation {
  call: Delegation
  result: ToolResultPart
}

/** The latest turns that only delegate, oldest first, with no other tool call or message of a person in between. */
function delegationsByTurn(messages: readonly Message[], names: readonly string[]): FinishedDelegation[][] {
  const results = new Map<string, ToolResultPart>()
  for (const message of messages)
    if (message.role === 'tool') for (const part of message.content) results.set(part.id, part)
  const start = messages.findLastIndex(
    ({ role, content }) =>
      role === 'user' || content.some((part) => part.type === 'tool-call' && !names.includes(part.name)),
  )
  return messages.slice(start + 1).map(({ content }) =>
    content.flatMap((part) => {
      if (part.type !== 'tool-call') return []
      const call = (part.input ?? {}) as Partial<Delegation> & { session_id?: unknown }
      const result = results.get(part.id)
      if (!result || typeof call.agent !== 'string' || typeof call.instruction !== 'string') return []
      return call.session_id === undefined ? [{ call: call as Delegation, result }] : []
    }),
  )
}

function readResult(result: ToolResultPart): { text: string; isFinished: boolean } {
  const text = responseText(result)
  return { text, isFinished: !result.is_error && !isOutsideFailure(text) && !isWaiting(text) }
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

/** A message with more words is a report, not a failure. */
const MAX_WORDS = 60

/** Rate limits, overload, time-outs and broken connections: they say nothing about the agents, and a retry is right. */
const FAILURE =
  /\b(?:429|50[0234]|52[0-9])\b|\brate[- ]limit(?:ed|s)?\b|\btoo many requests\b|\boverloaded\b|\b(?:temporarily |currently )?unavailable\b|\btimed[- ]?out\b|\btimeout\b|\bgateway\b|\bconnection (?:was )?(?:refused|reset|closed|lost|aborted)\b|\bnetwork (?:error|is down|failure)\b|\b(?:ECONN\w+|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EPIPE)\b|\bservice (?:is )?down\b|\bcancell?ed by the user\b/iu
const REPORTS_FAILURE =
  /\b(?:error|fail(?:ed|ure|s)?|unavailable|timed|timeout|overloaded|refused|reset|limit(?:ed)?|cancell?ed|down|E[A-Z_]{4,})\b/iu

/** Whether a message only reports a failure of the outside world. */
export function isOutsideFailure(text: string): boolean {
  const words = text.slice(0, 2000).split(/\s+/, MAX_WORDS + 1)
  return words.length <= MAX_WORDS && FAILURE.test(text) && REPORTS_FAILURE.test(text)
}

/** Work of others that is not finished: whoever asks again polls. */
const WAITING =
  /\b(?:in[_ -]progress|pending|queued|waiting|still (?:running|building|working|waiting)|not (?:yet|ready|finished|complete[d]?|done)|running|building|scheduled|starting)\b/iu

/** Whether a short message only says that work is not finished. */
export function isWaiting(text: string): boolean {
  const words = text.slice(0, 2000).split(/\s+/, MAX_WORDS + 1)
  return words.length <= MAX_WORDS && WAITING.test(text)
}
