/** One piece of a pattern for a name: some characters, exactly one, one of a class, or this one. */
export type GlobToken = 'star' | 'one' | { char: string } | CharacterClass

interface CharacterClass {
  negated: boolean
  ranges: readonly (readonly [from: string, to: string])[]
}

/** Whether a name without slashes fits. Goes back to the last star only, which is enough: an earlier one gains nothing. */
export function matchesSegment(tokens: readonly GlobToken[], name: string): boolean {
  const chars = hasNoSurrogates(name) ? name : [...name]
  let [token, at] = [0, 0]
  let last: { token: number; at: number } | undefined
  while (at < chars.length) {
    const wanted = tokens[token]
    if (wanted === 'star') {
      last = { token, at }
      token++
    } else if (wanted !== undefined && matchesToken(wanted, chars[at] ?? '')) {
      token++
      at++
    } else if (last) {
      last.at++
      token = last.token + 1
      at = last.at
    } else return false
  }
  while (tokens[token] === 'star') token++
  return token === tokens.length
}

/** True when every character is one unit of its text, so that it can be read by position. */
function hasNoSurrogates(name: string): boolean {
  return !/[\ud800-\udfff]/.test(name)
}

function matchesToken(token: Exclude<GlobToken, 'star'>, char: string): boolean {
  if (token === 'one') return true
  if ('char' in token) return token.char === char
  const code = char.codePointAt(0) ?? 0
  const within = token.ranges.some(
    ([from, to]) => (from.codePointAt(0) ?? 0) <= code && code <= (to.codePointAt(0) ?? 0),
  )
  return within !== token.negated
}

/** The class that begins at a bracket, with the place of its end; `undefined` for a bracket that nobody closes. */
export function parseBracket(pattern: string, at: number): { token: CharacterClass; end: number } | undefined {
  const chars: { char: string; escaped: boolean }[] = []
  let end = at + 1
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
