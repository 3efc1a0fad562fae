import type { InboxItem } from '../../src/surfaces/http/contract.ts'

/*
 * The answers that a question offers. A gate either has `choices`, of which one must be given, or suggests words in `detail.answers` and
 * takes any other text, too.
 */

export interface GateAnswers {
  /** Words that can be sent as they are, in the order in which they are shown. */
  offered: readonly string[]
  /** The one that lets the run go on; the key `a`. */
  positive: string | null
  /** The one that refuses; the key `d`. */
  negative: string | null
  /** The negative one if it certainly allows nothing. Of `choices`, which a model may have written, nobody knows what a "no" does. */
  refusal: string | null
  /** Whether any text is an answer. */
  freeText: boolean
  /** Whether a text goes along with a refusal: a permission is never given by a text. */
  textIsReason: boolean
}

const POSITIVE = /^(allow|approve|approved|yes|accept|continue|ok)$/i
const NEGATIVE = /^(deny|decline|reject|no|stop|abort|cancel)$/i
const WORD = /^[\p{L}\p{N}][\p{L}\p{N} _'’-]*$/u

export function answersOf({ choices, detail }: Pick<InboxItem, 'choices' | 'detail'>): GateAnswers {
  const fields = typeof detail === 'object' && detail !== null ? (detail as Record<string, unknown>) : {}
  const suggested = Array.isArray(fields.answers) ? fields.answers.filter((each) => typeof each === 'string') : []
  const offered = choices ?? suggested.filter((each) => WORD.test(each))
  const negative = offered.find((each) => NEGATIVE.test(each)) ?? null
  return {
    offered,
    positive: offered.find((each) => POSITIVE.test(each)) ?? null,
    negative,
    refusal: choices === undefined ? negative : null,
    freeText: choices === undefined,
    textIsReason: typeof fields.permission === 'string',
  }
}

/** The answer that is sent when a button is pressed while `text` is in the field. */
export function answerWithText(answer: string, text: string, { negative, textIsReason }: GateAnswers): string {
  const reason = text.trim()
  // A bare text could be read as a rule that allows the tool: a reason always begins with the refusal.
  return textIsReason && answer === negative && reason !== '' ? `${answer}: ${reason}` : answer
}
