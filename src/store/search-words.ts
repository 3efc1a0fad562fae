import { TroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { runTitle } from '../kernel/short-text.ts'

/*
 * The words by which a run is found: letters and digits in lower case. Scripts that write without spaces have one word per character.
 * A search finds words by their beginning. It reads the words of each run, not its journal.
 */

const MAX_WORD_LENGTH = 40
/** Of one text; the beginning of a long one. */
const MAX_WORDS = 1000
const MAX_TEXT_LENGTH = 50_000
const MAX_SEARCH_WORDS = 8

const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[[\p{L}\p{M}\p{N}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]]+/gv

const ASCII_TEXT = /^\p{ASCII}*$/v
/** Finds the words of most texts in a third of the time. */
const ASCII_WORD = /[a-z\d]+/g

/** The distinct words of a text. */
export function wordsFrom(text: string): string[] {
  const start = text.slice(0, MAX_TEXT_LENGTH)
  const found = ASCII_TEXT.test(start)
    ? start.toLowerCase().match(ASCII_WORD)
    : start.normalize('NFKC').toLowerCase().match(WORD)
  const words = new Set<string>()
  for (const word of found ?? []) {
    words.add(word.slice(0, MAX_WORD_LENGTH).toWellFormed())
    if (words.size === MAX_WORDS) break
  }
  return [...words]
}

/** The words that an event adds to those by which its run is found. */
export function wordsOfEvent(event: Event): string[] {
  switch (event.type) {
    case 'run:start':
      return wordsFrom([event.run_id, event.data.pattern, runTitle(event.data), ...(event.data.tags ?? [])].join('\n'))
    case 'session:open':
      return wordsFrom(event.data.agent.name)
    case 'session:end':
      return wordsFrom(event.data.text)
    default:
      return []
  }
}

/** The words of a search, all of which a run must have; `undefined` if it asks for none. Throws `invalid_input` for too many. */
export function searchWords(text: string | undefined): string[] | undefined {
  if (text === undefined || text.trim() === '') return undefined
  const words = wordsFrom(text)
  if (words.length <= MAX_SEARCH_WORDS) return words
  throw new TroupeError(
    'invalid_input',
    `\`text\` has ${words.length} words; a search has at most ${MAX_SEARCH_WORDS}`,
    {
      hint: 'search for the rarest words',
    },
  )
}
