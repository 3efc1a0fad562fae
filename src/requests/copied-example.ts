/*
 * Weak models copy the example of their prompt, word by word or nearly so: "One imperative sentence of at max 15 words." Such a text is no answer,
 * whichever field it stands in.
 */

/** Words and numbers that any answer has: they alone make no copy ("at most 15 replicas"). */
const COMMON = new Set(
  'what to do one of at most the you your for who would need go and or with be in it is'.split(' '),
)
/** Words of the prompt around an example. */
const FORM = new Set(['example', 'minor', 'moderate', 'critical'])
/** Fewer words are a copy only if all of them are: "at most 15" may be an answer. */
const MIN_WORDS = 4
const MIN_SHARE = 3 / 4

/** Whether a text is one of the example texts, or has at least three quarters of its words from one of them. */
export function isCopiedExample(text: string, examples: readonly string[]): boolean {
  // Longer texts say more than any example.
  if (text.length > 4 * Math.max(...examples.map(({ length }) => length))) return false
  const words = wordsFrom(text)
  const joined = words.join(' ')
  const parsed = examples.map(parseExample)
  if (isOnlyExamples(joined, parsed)) return true
  return parsed.some((example) => {
    if (joined === example.joined) return true
    const shared = words.filter((word) => example.words.has(word))
    const isNear = words.length >= MIN_WORDS && shared.length >= MIN_SHARE * words.length
    return isNear && shared.some((word) => !COMMON.has(word) && !/^\d+$/.test(word))
  })
}

interface ParsedExample {
  /** All words, with a space between them. */
  joined: string
  words: ReadonlySet<string>
  isShort: boolean
}

/** Examples are the constants of a few prompts, compared with every answer. */
const MAX_PARSED_EXAMPLES = 100
const parsedExamples = new Map<string, ParsedExample>()

function parseExample(example: string): ParsedExample {
  const known = parsedExamples.get(example)
  if (known) return known
  const words = wordsFrom(example)
  const parsed = { joined: words.join(' '), words: new Set(words), isShort: words.length < MIN_WORDS }
  if (parsedExamples.size >= MAX_PARSED_EXAMPLES) parsedExamples.clear()
  parsedExamples.set(example, parsed)
  return parsed
}

/** Whether nothing is left of a text without the examples in it but words of the form, such as "for example" and "minor". */
function isOnlyExamples(text: string, examples: readonly ParsedExample[]): boolean {
  const whole = ` ${text} `
  const rest = examples
    .filter(({ isShort }) => !isShort)
    .reduce((left, { joined }) => left.replaceAll(` ${joined} `, '  '), whole)
  return rest !== whole && rest.split(' ').every((word) => word === '' || COMMON.has(word) || FORM.has(word))
}

/** Lower-case words without the ending -ing: "going" is "go". */
function wordsFrom(text: string): string[] {
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  return words.map((word) => word.replace(/(?<=..)ing$/, ''))
}
