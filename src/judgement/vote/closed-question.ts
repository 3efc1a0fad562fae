/*
 * Recognises questions that are answered with yes or no. The rule is conservative: a wrong "yes or no" would leave an open question without an
 * answer, a missed one only compares recommendations as text.
 */

interface Language {
  /** The verbs that begin a closed question. */
  verbs: RegExp
  /** Words that ask for more than yes or no, or offer alternatives. */
  open: RegExp
  /** Requests in the form of a question: "Can you list the risks?" */
  request: RegExp
  answers: readonly string[]
}

const LANGUAGES: readonly Language[] = [
  {
    verbs:
      /^(?:is|are|was|were|am|do|does|did|has|have|had|can|could|should|shall|will|would|must|may|might|isn't|aren't|doesn't|don't|shouldn't|can't|won't)\s/iu,
    open: /\b(?:or|versus|vs|which|what|how|why|who|whom|whose|where)\b/iu,
    request: /^(?:can|could|will|would|may|might)\s+(?:you|i|somebody|someone|anybody|anyone)\b/iu,
    answers: ['yes', 'no', 'unclear'],
  },
  {
    verbs:
      /^(?:ist|sind|war|waren|hat|haben|hatte|hatten|kann|können|könnte|könnten|soll|sollen|sollte|sollten|wird|werden|würde|würden|darf|dürfen|dürfte|muss|müssen|müsste|müssten|gibt|lohnt|gilt)\s/iu,
    open: /(?<!\p{L})(?:oder|welche[rsmn]?|was|wie|wieso|weshalb|warum|wer|wen|wem|wo|womit|wohin|woher|wann)(?!\p{L})/iu,
    request: /^(?:kann|können|könnte|könnten|würde|würden|darf)\s+(?:ich|du|ihr|sie|jemand)(?!\p{L})/iu,
    answers: ['ja', 'nein', 'unklar'],
  },
]

/** The answers to a closed question in English or German, or `undefined` if the text is anything else. */
export function closedQuestionAnswers(task: string): string[] | undefined {
  const text = task.trim()
  // One question, at the end. Anything after it may ask for more than yes or no.
  if (text.indexOf('?') !== text.length - 1) return undefined
  const question = text.split(/(?<=[.!:;])\s+|\n+/u).findLast((sentence) => sentence.trim() !== '') ?? ''
  const language = LANGUAGES.find(({ verbs }) => verbs.test(question))
  if (!language || language.open.test(question) || language.request.test(question)) return undefined
  return [...language.answers]
}
