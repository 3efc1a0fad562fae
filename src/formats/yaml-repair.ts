export interface RepairedYaml {
  /** The same number of lines, so that line numbers stay valid. */
  lines: string[]
  /** Indexes of the lines where a repaired value starts. */
  repairedLines: number[]
}

const OPENING_VALUE = /^(\s*)(?:- +)?[\w.-]+[ \t]*:[ \t]+(["'[{].*)$/
/** Bounds the search for a closing quote: an unbounded one is quadratic in a hostile file. */
const MAX_QUOTED_LINES = 400
const CLOSING_BRACKET = { '[': ']', '{': '}' } as const

/**
 * Indents quoted or bracketed values that continue at the left margin, and replaces tabs in the indentation. YAML forbids
 * both, but other parsers accept them.
 */
export function repairIndentation(lines: readonly string[]): RepairedYaml {
  const repaired = lines.map((line) => line.replace(/^[ ]*\t[ \t]*/, (margin) => margin.replaceAll('\t', '  ')))
  const changed = repaired.flatMap((line, index) => (line === lines[index] ? [] : [index]))
  for (let index = 0; index < repaired.length; index++) {
    const [, margin = '', value] = OPENING_VALUE.exec(repaired[index] ?? '') ?? []
    const end = value === undefined ? index : endOfValue(repaired, index, value)
    let isIndented = false
    for (let next = index + 1; next <= end; next++) {
      const line = repaired[next] ?? ''
      if (line.trim() === '' || line.startsWith(`${margin} `)) continue
      repaired[next] = `${margin}  ${line.trimStart()}`
      isIndented = true
    }
    if (isIndented) changed.push(index)
    index = end
  }
  return { lines: repaired, repairedLines: [...new Set(changed)].sort((a, b) => a - b) }
}

/** The line where a quoted or bracketed value ends; the start line when it never ends. */
function endOfValue(lines: readonly string[], start: number, value: string): number {
  const isEnd = value.startsWith('"') || value.startsWith("'") ? quoteEnd(value) : bracketEnd(value)
  for (let index = start; index < Math.min(lines.length, start + MAX_QUOTED_LINES); index++) {
    if (isEnd(index === start ? value : (lines[index] ?? ''))) return index
  }
  return start
}

type IsEnd = (line: string) => boolean

/** Only a quote at the end of a line, or before a comment, closes the value: quoted text often contains quotes. */
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
    const unquoted = line.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, '')
    for (const character of unquoted) depth += character === open ? 1 : character === close ? -1 : 0
    return depth <= 0
  }
}
