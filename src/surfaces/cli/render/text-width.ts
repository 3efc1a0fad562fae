import { stripVTControlCharacters } from 'node:util'

/*
 * How wide text is on a terminal, and how to make it fit. East Asian and emoji characters take two columns, combining
 * marks none; a character is never cut in half.
 */

const ASCII = /^[\x20-\x7e]*$/
const WIDE_CHARACTER =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|^\p{Emoji_Presentation}|^\p{Extended_Pictographic}\uFE0F|^[\u{20000}-\u{3fffd}]/u
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]+$/u
const WHITESPACE = /[\s\p{Cc}]+/gu
const CONTROL_CHARACTERS = /(?![\n\t])\p{Cc}/gu
/** Marks that turn the direction of what follows: with them a text could show its words in another order. */
const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The columns that a text of one line takes. */
export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += characterWidth(segment)
  return width
}

function characterWidth(character: string): number {
  if (ZERO_WIDTH.test(character)) return 0
  return WIDE_CHARACTER.test(character) ? 2 : 1
}

/** At most `width` columns; what was cut off is shown as an ellipsis. */
export function truncateToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  if (width < 1) return ''
  let kept = ''
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    const next = used + characterWidth(segment)
    if (next > width - 1) break
    kept += segment
    used = next
  }
  return `${kept.trimEnd()}…`
}

/** Exactly `width` columns, filled with blanks or clipped. */
export function padToWidth(text: string, width: number, side: 'left' | 'right' = 'left'): string {
  const clipped = truncateToWidth(text, width)
  const blanks = ' '.repeat(Math.max(0, width - displayWidth(clipped)))
  return side === 'left' ? clipped + blanks : blanks + clipped
}

/** One line of it, without anything that a terminal would obey. */
export function toTerminalLine(text: string): string {
  return stripVTControlCharacters(text.slice(0, 4000)).replace(BIDI_CONTROLS, '').replace(WHITESPACE, ' ').trim()
}

/** The text without what a terminal would obey; lines and tabs stay. */
export function stripControlCharacters(text: string): string {
  return stripVTControlCharacters(text).replace(BIDI_CONTROLS, '').replace(CONTROL_CHARACTERS, '')
}

/** Lines of at most `width` columns, broken between words where there are any; lines after the first are indented. */
export function wrapText(text: string, width: number, indent = 0): string[] {
  return text
    .split('\n')
    .flatMap((line) => wrapLine(line.replaceAll('\t', '    '), Math.max(width, indent + 8), indent))
}

function wrapLine(line: string, width: number, indent: number): string[] {
  if (displayWidth(line) <= width) return [line]
  const margin = ' '.repeat(indent)
  const lines: string[] = []
  let current = /^ */.exec(line)?.[0].slice(0, width >> 1) ?? ''
  let empty = true
  for (const word of line.trim().split(/ +/)) {
    for (const piece of splitWord(word, width - indent)) {
      const joined = empty ? current + piece : `${current} ${piece}`
      if (empty || displayWidth(joined) <= width) current = joined
      else {
        lines.push(current)
        current = margin + piece
      }
      empty = false
    }
  }
  return [...lines, current]
}

/** A word, or the parts of one that is wider than a line. */
function splitWord(word: string, width: number): string[] {
  if (displayWidth(word) <= width) return [word]
  const parts: string[] = []
  let part = ''
  for (const { segment } of graphemes.segment(word)) {
    if (displayWidth(part + segment) > width) {
      parts.push(part)
      part = ''
    }
    part += segment
  }
  return [...parts, part]
}
