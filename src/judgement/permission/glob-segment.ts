/** One token of a glob within a name: `*`, `?`, a literal character, or a class such as `[a-z]`. */
export type GlobToken = 'star' | 'one' | { char: string } | CharacterClass

interface CharacterClass {
  negated: boolean
  ranges: readonly (readonly [from: string, to: string])[]
}

/** Matches a name without slashes. */
export function matchesSegment(tokens: readonly GlobToken[], name: string): boolean {
  return matchesStars<GlobToken, string>(tokens, hasNoSurrogates(name) ? name : [...name], {
    isStar: (token) => token === 'star',
    matches: matchesToken,
  })
}

/** Whether a pattern matches all items. Backtracking to the last star is enough, and keeps it safe from ReDoS. */
export function matchesStars<Part, Item>(
  pattern: readonly Part[],
  items: ArrayLike<Item>,
  { isStar, matches }: { isStar(part: Part): boolean; matches(part: Part, item: Item): boolean },
): boolean {
  let [partIndex, itemIndex] = [0, 0]
  let backtrack: { partIndex: number; itemIndex: number } | undefined
  while (itemIndex < items.length) {
    const part = pattern[partIndex]
    if (part !== undefined && isStar(part)) {
      backtrack = { partIndex, itemIndex }
      partIndex++
    } else if (part !== undefined && matches(part, items[itemIndex] as Item)) {
      partIndex++
      itemIndex++
    } else if (backtrack) {
      backtrack.itemIndex++
      partIndex = backtrack.partIndex + 1
      itemIndex = backtrack.itemIndex
    } else return false
  }
  return pattern.slice(partIndex).every(isStar)
}

function hasNoSurrogates(name: string): boolean {
  return !/[\ud800-\udfff]/.test(name)
}

function matchesToken(token: GlobToken, char: string): boolean {
  if (token === 'one' || token === 'star') return true
  if ('char' in token) return token.char === char
  const code = char.codePointAt(0) ?? 0
  const within = token.ranges.some(
    ([from, to]) => (from.codePointAt(0) ?? 0) <= code && code <= (to.codePointAt(0) ?? 0),
  )
  return within !== token.negated
}

/** Parses the character class that begins at `start`; `undefined` for a bracket that is not closed. */
export function parseBracket(pattern: string, start: number): { token: CharacterClass; end: number } | undefined {
  const chars: { char: string; escaped: boolean }[] = []
  let end = start + 1
  const negated = pattern[end] === '!' || pattern[end] === '^'
  if (negated) end++
  for (let first = true; pattern[end] !== ']' || first; first = false) {
    const escaped = pattern[end] === '\\'
    if (escaped) end++
    if (end >= pattern.length) return undefined
    const char = String.fromCodePoint(pattern.codePointAt(end) ?? 0)
    chars.push({ char, escaped })
    end += char.length
  }
  const ranges: [string, string][] = []
  for (let index = 0; index < chars.length; index++) {
    const from = chars[index]?.char ?? ''
    const dash = chars[index + 1]
    const to = chars[index + 2]
    const isRange = dash?.char === '-' && !dash.escaped && to !== undefined
    ranges.push([from, isRange ? to.char : from])
    if (isRange) index += 2
  }
  return { token: { negated, ranges }, end }
}
