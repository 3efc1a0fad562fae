/* Splits texts into passages at sensible places: between paragraphs, before lines with little indentation, between sentences. */

/** A part of a text, with its lines (the first is 1). */
export interface Passage {
  text: string
  firstLine: number
  lastLine: number
}

/** Splits a text into passages of at most `maxCharacters`. */
export function splitPassages(text: string, maxCharacters: number): Passage[] {
  const lines = text.split('\n')
  const passages: Passage[] = []
  let first = 0
  while (first < lines.length) {
    const line = lines[first] ?? ''
    if (line.trim() === '') {
      first++
      continue
    }
    if (line.length > maxCharacters) {
      for (const part of splitLine(line, maxCharacters))
        passages.push({ text: part, firstLine: first + 1, lastLine: first + 1 })
      first++
      continue
    }
    const next = passageEnd(lines, first, maxCharacters)
    const kept = lines.slice(first, next).join('\n').trimEnd()
    passages.push({ text: kept, firstLine: first + 1, lastLine: first + kept.split('\n').length })
    first = next
  }
  return passages
}

/** The line after a passage: behind the last good place to split that still fits. */
function passageEnd(lines: readonly string[], first: number, maxCharacters: number): number {
  let size = 0
  let end = first
  let [best, bestQuality] = [first + 1, -1]
  while (end < lines.length && size + (lines[end] ?? '').length <= maxCharacters) {
    size += (lines[end] ?? '').length + 1
    end++
    const quality = splitQuality(lines, end)
    // A passage that is too short says nothing: prefer late places among equally good ones.
    if (size >= maxCharacters / 5 && quality >= bestQuality) [best, bestQuality] = [end, quality]
  }
  return end >= lines.length ? end : bestQuality < 0 ? Math.max(end, first + 1) : best
}

/** How good it is to split before this line. */
function splitQuality(lines: readonly string[], index: number): number {
  const next = lines[index] ?? ''
  if (next.trim() === '') return indentation(lines[index + 1] ?? '') === 0 ? 3 : 2
  if (/^#{1,6}\s/.test(next)) return 3
  return indentation(next) === 0 && !/^[)}\]]/.test(next) ? 1 : 0
}

/** Line numbers of tools, such as `  12→`, are no indentation of the code. */
function indentation(line: string): number {
  return (/^\s*(?:\d+[→\t:|])?(\s*)/.exec(line)?.[1] ?? '').length
}

function splitLine(line: string, maxCharacters: number): string[] {
  const parts: string[] = []
  for (let rest = line; rest !== ''; ) {
    const part = rest.slice(0, textCut(rest, maxCharacters))
    parts.push(part.trim())
    rest = rest.slice(part.length)
  }
  return parts.filter((part) => part !== '')
}

/** Where to cut a text that is too long: after a line, a sentence or a word in its last half, never inside of a character. */
export function textCut(text: string, maxCharacters: number): number {
  if (text.length <= maxCharacters) return text.length
  const head = text.slice(0, maxCharacters)
  for (const pattern of [/\n(?=[^\n]*$)/, /[.;!?]["')\]]?\s(?=[^.;!?]*$)/, /[\s,](?=[^\s,]*$)/]) {
    const match = pattern.exec(head)
    if (match && match.index >= maxCharacters / 2) return match.index + match[0].length
  }
  return /[\uD800-\uDBFF]$/.test(head) ? maxCharacters - 1 : maxCharacters
}
