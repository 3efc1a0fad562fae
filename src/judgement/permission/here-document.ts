/*
 * Here-documents of the shell: where the word stands that ends one, and where its text ends.
 */

export interface HereDelimiter {
  delimiter: string
  /** It was quoted: nothing in the text is replaced. */
  literal: boolean
  /** Behind the word. */
  end: number
}

/** The word that ends the text; absent where it is written in a way that we do not follow. */
export function parseHereDelimiter(text: string, from: number): HereDelimiter | undefined {
  const word = /[ \t]*(?:'([^'\n]*)'|"([^"\n\\$`]*)"|\\?([\w.,:@%+=/-]+))(?=[\s;&|<>)]|$)/y
  word.lastIndex = from
  const found = word.exec(text)
  if (!found) return undefined
  const delimiter = found[1] ?? found[2] ?? found[3] ?? ''
  return { delimiter, literal: /['"\\]/.test(found[0]), end: from + found[0].length }
}

export interface HereDocumentEnd {
  /** Where the text ends. */
  body: number
  /** Where the next line begins, one further than the end of the line that is the word. */
  next: number
  found: boolean
}

export function findHereDocumentEnd(
  text: string,
  from: number,
  { delimiter, indented }: { delimiter: string; indented: boolean },
): HereDocumentEnd {
  for (let at = from; at < text.length; ) {
    const newline = text.indexOf('\n', at)
    const end = newline === -1 ? text.length : newline
    const line = text.slice(at, end)
    if ((indented ? line.replace(/^\t+/, '') : line) === delimiter) return { body: at, next: end + 1, found: true }
    at = end + 1
  }
  return { body: text.length, next: text.length + 1, found: false }
}
