/*
 * Display width of text on a terminal. East Asian and emoji characters take two columns, combining marks none. Text is
 * cut between grapheme clusters only.
 */

const ASCII = /^[\x20-\x7e]*$/
const WIDE_CHARACTER =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|^\p{Emoji_Presentation}|^\p{Extended_Pictographic}\uFE0F|^[\u{20000}-\u{3fffd}]/u
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]+$/u
const WHITESPACE = /[\s\p{Cc}]+/gu
const CONTROL_CHARACTERS = /(?![\n\t])\p{Cc}/gu
/** Prevents bidirectional spoofing: these marks could display text in another order. */
const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

let segmenter: Intl.Segmenter | undefined

/** Created when it is first needed: it loads the data of its language, which takes longer than importing all views. */
function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return segmenter.segment(text)
}

export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemesOf(text)) width += characterWidth(segment)
  return width
}

function characterWidth(character: string): number {
  if (ZERO_WIDTH.test(character)) return 0
  return WIDE_CHARACTER.test(character) ? 2 : 1
}

/** At most `width` columns, with an ellipsis if truncated. */
export function truncateToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  if (width < 1) return ''
  let kept = ''
  let used = 0
  for (const { segment } of graphemesOf(text)) {
    const next = used + characterWidth(segment)
    if (next > width - 1) break
    kept += segment
    used = next
  }
  return `${kept.trimEnd()}…`
}

/** Exactly `width` columns, padded or truncated. */
export function padToWidth(text: string, width: number, side: 'left' | 'right' = 'left'): string {
  const truncated = truncateToWidth(text, width)
  const blanks = ' '.repeat(Math.max(0, width - displayWidth(truncated)))
  return side === 'left' ? truncated + blanks : blanks + truncated
}

/** Text as one line without terminal control sequences (escape injection). */
export function toTerminalLine(text: string): string {
  return toTerminalText(text).replace(WHITESPACE, ' ').trim()
}

/** The same with its spaces. */
export function toTerminalText(text: string): string {
  return stripControlSequences(text.slice(0, 4000))
    .replace(BIDI_CONTROLS, '')
    .replace(/\p{Cc}/gu, ' ')
}

/**
 * CSI sequences, and strings such as OSC up to their end. A string ends at the next escape at the latest: without that, text
 * with many unfinished strings would take quadratic time, as it does in `stripVTControlCharacters` of Node.
 */
const CONTROL_SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences begin with one
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0090-\u009f]*(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]*[0-~]/g

function stripControlSequences(text: string): string {
  return text.replace(CONTROL_SEQUENCE, '')
}

/** Removes terminal control sequences; keeps newlines and tabs. */
export function stripControlCharacters(text: string): string {
  return stripControlSequences(text).replace(BIDI_CONTROLS, '').replace(CONTROL_CHARACTERS, '')
}

/** Wraps at word boundaries; words longer than a line are split. Continuation lines are indented. */
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
  let isEmpty = true
  for (const word of line.trim().split(/ +/)) {
    for (const piece of splitWord(word, width - indent)) {
      const joined = isEmpty ? current + piece : `${current} ${piece}`
      if (isEmpty || displayWidth(joined) <= width) current = joined
      else {
        lines.push(current)
        current = margin + piece
      }
      isEmpty = false
    }
  }
  return [...lines, current]
}

function splitWord(word: string, width: number): string[] {
  if (displayWidth(word) <= width) return [word]
  const parts: string[] = []
  let part = ''
  for (const { segment } of graphemesOf(word)) {
    if (displayWidth(part + segment) > width) {
      parts.push(part)
      part = ''
    }
    part += segment
  }
  return [...parts, part]
}
