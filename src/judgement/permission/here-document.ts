export interface HereDelimiter {
  delimiter: string
  /** The delimiter is quoted: the shell expands nothing in the body. */
  literal: boolean
  /** Index right after the delimiter. */
  end: number
}

/** The delimiter word of a here-document; `undefined` when its quoting is not supported. */
export function parseHereDelimiter(text: string, start: number): HereDelimiter | undefined {
  const word = /[ \t]*(?:'([^'\n]*)'|"([^"\n\\$`]*)"|\\?([\w.,:@%+=/-]+))(?=[\s;&|<>)]|$)/y
  word.lastIndex = start
  const match = word.exec(text)
  if (!match) return undefined
  const delimiter = match[1] ?? match[2] ?? match[3] ?? ''
  return { delimiter, literal: /['"\\]/.test(match[0]), end: start + match[0].length }
}

export interface HereDocumentEnd {
  /** Index at which the body ends. */
  body: number
  /** Index at which the line after the delimiter begins. */
  next: number
  found: boolean
}

/** Finds the end of the here-document whose body begins at `start`. */
export function findHereDocumentEnd(
  text: string,
  start: number,
  { delimiter, indented }: { delimiter: string; indented: boolean },
): HereDocumentEnd {
  for (let lineStart = start; lineStart < text.length; ) {
    const newline = text.indexOf('\n', lineStart)
    const end = newline === -1 ? text.length : newline
    const line = text.slice(lineStart, end)
    if ((indented ? line.replace(/^\t+/, '') : line) === delimiter)
      return { body: lineStart, next: end + 1, found: true }
    lineStart = end + 1
  }
  return { body: text.length, next: text.length + 1, found: false }
}
