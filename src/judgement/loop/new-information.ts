import type { ParsedText } from './same-subject.ts'
import { hasOther, isFiller, namesDiffer, parseText, sharedWords } from './same-subject.ts'

/** A question or instruction, and what came back. */
export interface Exchange {
  question: string
  answer: string
}

/** An exchange that is compared with several others. */
export interface ParsedExchange {
  question: ParsedText
  answer: ParsedText
  /** Words of the question that the answer takes up: what the exchange is about. */
  echoed: readonly string[]
}

const SAME_ANSWER = 0.8
const MIN_WORDS = 3

export function parseExchange(exchange: Exchange): ParsedExchange {
  const [question, answer] = [parseText(exchange.question), parseText(exchange.answer)]
  return {
    question,
    answer,
    echoed: [...question.words].filter((word) => answer.words.has(word) && !isFiller(word)),
  }
}

/**
 * Whether two exchanges are about different things: their questions name different things, or each answer takes up a word of its own
 * question that the other exchange does not have. "Is the login page accessible?" and "Is the cart accessible?" are.
 */
function areAboutDifferentThings(a: ParsedExchange, b: ParsedExchange): boolean {
  return namesDiffer(a.question, b.question) || (takesUpOther(a, b) && takesUpOther(b, a))
}

function takesUpOther({ echoed }: ParsedExchange, { question, answer }: ParsedExchange): boolean {
  return echoed.some((word) => !question.words.has(word) && !answer.words.has(word))
}

/** "Yes." to another question is news; the same short answer to the same question is not. */
function findSameExchange(exchange: ParsedExchange, earlier: readonly ParsedExchange[]) {
  const index = earlier.findLastIndex(
    ({ question, answer }) =>
      haveSameWords(question.words, exchange.question.words) && haveSameWords(answer.words, exchange.answer.words),
  )
  return index < 0 ? undefined : { index, similarity: 1 }
}

function haveSameWords(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((word) => b.has(word))
}

/** The latest earlier exchange with the same answer about the same subject; `undefined` if this answer is news. */
export function findSameAnswer(
  exchange: ParsedExchange,
  earlier: readonly ParsedExchange[],
): { index: number; similarity: number } | undefined {
  if (exchange.answer.words.size < MIN_WORDS) return findSameExchange(exchange, earlier)
  for (let index = earlier.length - 1; index >= 0; index--) {
    const other = earlier[index]
    if (!other || hasOther(exchange.answer.names, other.answer.names) || areAboutDifferentThings(exchange, other))
      continue
    const similarity = sharedWords(exchange.answer.words, other.answer.words)
    if (similarity >= SAME_ANSWER) return { index, similarity }
  }
  return undefined
}
