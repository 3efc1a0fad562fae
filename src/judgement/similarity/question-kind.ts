/** How a question begins to ask, and what an answer to it is: a number, a place, a time, a person, a comparison. */
const KINDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['quantity', /\bhow (?:many|much|long|often|old|far|large|big|fast)\b/],
  ['place', /\bwhere\b/],
  ['time', /\bwhen\b/],
  ['person', /\bwho(?:m|se)?\b/],
  ['comparison', /\b(?:differences?|distinctions?|compared?|versus|vs)\b/],
]

/** Whether an answer to one question could not answer the other, as with "where" and "when". "How", "what" and "why" often ask for the same. */
export function questionKindsDiffer(a: string, b: string): boolean {
  return questionKind(a) !== questionKind(b)
}

function questionKind(question: string): string | undefined {
  const text = question.normalize('NFKC').toLowerCase()
  return KINDS.find(([, pattern]) => pattern.test(text))?.[0]
}
