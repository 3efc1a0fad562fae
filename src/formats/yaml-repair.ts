export interface RepairedYaml {
  /** As many lines as before, so that line numbers stay true. */
  lines: string[]
  /** Where a value begins that was repaired. */
  repairedLines: number[]
}

const OPENING_VALUE = /^(\s*)(?:- +)?[\w.-]+[ \t]*:[ \t]+(["'[{].*)$/
/** Text in quotes is not longer than this; looking further would make a hostile file slow. */
const MAX_QUOTED_LINES = 400
const CLOSING_BRACKET = { '[': ']', '{': '}' } as const

/**
 * Values in quotes or brackets that go on at the left margin are indented, and tabs at the margin become blanks. YAML
 * forbids both; other readers do not mind.
 */
export function repairIndentation(lines: readonly string[]): RepairedYaml {
  const repaired = lines.map((line) => line.replace(/^[ ]*\t[ \t]*/, (margin) => margin.replaceAll('\t', '  ')))
  const at = repaired.flatMap((line, index) => (line === lines[index] ? [] : [index]))
  for (let index = 0; index < repaired.length; index++) {
    const [, margin = '', value] = OPENING_VALUE.exec(repaired[index] ?? '') ?? []
    const end = value === undefined ? index : endOfValue(repaired, index, value)
    let moved = false
    for (let next = index + 1; next <= end; next++) {
      const line = repaired[next] ?? ''
      if (line.trim() === '' || line.startsWith(`${margin} `)) continue
      repaired[next] = `${margin}  ${line.trimStart()}`
      moved = true
    }
    if (moved) at.push(index)
    index = end
  }
  return { lines: repaired, repairedLines: [...new Set(at)].sort((a, b) => a - b) }
}

/** The line in which a value in quotes or brackets ends; the same line when it ends nowhere. */
function endOfValue(lines: readonly string[], start: number, value: string): number {
  const isEnd = value.startsWith('"') || value.startsWith("'") ? quoteEnd(value) : bracketEnd(value)
  for (let index = start; index < Math.min(lines.length, start + MAX_QUOTED_LINES); index++) {
    if (isEnd(index === start ? value : (lines[index] ?? ''))) return index
  }
  return start
}

type IsEnd = (line: string) => boolean

/** A quote ends the value where nothing but a comment follows it: text in quotes often holds quotes of its own. */
function quoteEnd(value: string): IsEnd {
  const quote = value[0] ?? ''
  const end = quote === '"' ? /(?:^|[^\\])(?:\\\\)*"[ \t]*(?:#.*)?$/ : /'[ \t]*(?:#.*)?$/
  let first = true
  return (line) => {
    const rest = first ? line.slice(1) : line
    first = false
    return end.test(rest)
  }
}

function bracketEnd(value: string): IsEnd {
  const open = value[0] as keyof typeof CLOSING_BRACKET
  const close = CLOSING_BRACKET[open]
  let depth = 0
  return (line) => {
    const bare = line.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, '')
    for (const character of bare) depth += character === open ? 1 : character === close ? -1 : 0
    return depth <= 0
  }
}
