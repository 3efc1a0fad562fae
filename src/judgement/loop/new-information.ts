import { sharedWords, wordSet } from './shared-words.ts'

/** A question or instruction, and what came back. */
export interface Exchange {
  question: string
  answer: string
}

/** An exchange that is compared with several others. */
export interface ParsedExchange {
  question: ReadonlySet<string>
  answer: ReadonlySet<string>
  /** Words of the question that the answer takes up: what the exchange is about. */
  echoed: ReadonlySet<string>
  /** Paths, identifiers, numbers and quoted names in the question. */
  names: ReadonlySet<string>
  /** The same in the answer. */
  answerNames: ReadonlySet<string>
}

const SAME_ANSWER = 0.8
const MIN_WORDS = 3
const MAX_CHARACTERS = 100_000
const MAX_NAME = 200
/** Whole tokens, so that matching is linear in the length of the text. */
const TOKEN = /[\p{L}\p{N}_./:#@\\]+/gu
const QUOTED = /["“„«`][^"“”»`\n]{1,80}["”“»`]/gu
/** Paths and identifiers such as `src/a.ts`, `user_id` and `UserModel`, and everything with a digit. */
const IDENTIFIER = /[\p{L}\p{N}][_./:#@\\]+[\p{L}\p{N}]|\p{Ll}\p{Lu}|\p{N}/u
const FUNCTION_WORDS = new Set(
  'a an the is are was were be been do does did has have had of in on at to for from by with and or but not no yes it its this that these those there here what which who when where why how can could should would will may might must i you he she we they as if then than so all any each only also please again'.split(
    ' ',
  ),
)

export function parseExchange({ question, answer }: Exchange): ParsedExchange {
  const [asked, answered] = [wordSet(question), wordSet(answer)]
  return {
    question: asked,
    answer: answered,
    echoed: new Set([...asked].filter((word) => answered.has(word) && !FUNCTION_WORDS.has(word))),
    names: namesIn(question),
    answerNames: namesIn(answer),
  }
}

/**
 * Whether two exchanges are about different things: their questions name different paths, identifiers or numbers, or each answer takes
 * up a word of its own question that the other exchange does not have. "Is the login page accessible?" and "Is the cart accessible?" are.
 */
export function differInSubject(a: ParsedExchange, b: ParsedExchange): boolean {
  if (hasOther(a.names, b.names) || hasOther(b.names, a.names)) return true
  return takesUpOther(a, b) && takesUpOther(b, a)
}

function takesUpOther(one: ParsedExchange, other: ParsedExchange): boolean {
  return [...one.echoed].some((word) => !other.question.has(word) && !other.answer.has(word))
}

/** The latest earlier exchange with the same answer about the same subject; `undefined` if this answer is news. */
export function findSameAnswer(
  exchange: ParsedExchange,
  earlier: readonly ParsedExchange[],
): { index: number; similarity: number } | undefined {
  if (exchange.answer.size < MIN_WORDS) return undefined
  for (let index = earlier.length - 1; index >= 0; index--) {
    const other = earlier[index]
    if (!other || hasOther(exchange.answerNames, other.answerNames) || differInSubject(exchange, other)) continue
    const similarity = sharedWords(exchange.answer, other.answer)
    if (similarity >= SAME_ANSWER) return { index, similarity }
  }
  return undefined
}

/** Whether two texts name different paths, identifiers, numbers or quoted names: "Review src/a.ts" and "Review src/b.ts" do. */
export function nameDifferentThings(a: string, b: string): boolean {
  const [inA, inB] = [namesIn(a), namesIn(b)]
  return hasOther(inA, inB) || hasOther(inB, inA)
}

function hasOther(names: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return [...names].some((name) => !others.has(name))
}

function namesIn(text: string): ReadonlySet<string> {
  const shown = text.slice(0, MAX_CHARACTERS).normalize('NFKC')
  const tokens = (shown.match(TOKEN) ?? []).map((token) => token.slice(0, MAX_NAME).replace(/[./:]+$/u, ''))
  const quoted = (shown.match(QUOTED) ?? []).map((name) => name.slice(1, -1))
  return new Set([...tokens.filter((token) => IDENTIFIER.test(token)), ...quoted].map((name) => name.toLowerCase()))
}
