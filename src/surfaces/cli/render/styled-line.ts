import { displayWidth, truncateToWidth } from './text-width.ts'

export type TextStyle = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** What text is rendered for: how wide the place is, and how to colour, if at all. */
export interface TerminalStyle {
  width: number
  /** The place shows no characters beyond ASCII. */
  ascii?: boolean
  /** What stands for `troupe` in a command that is to be typed: from a clone there is no such command in the path. */
  program?: string
  paint(textStyle: TextStyle, text: string): string
}

/** A look for places that show no colours. */
export function plainStyle(width: number): TerminalStyle {
  return { width, paint: (_style, text) => text }
}

/** Words with commands in them, as they can be typed in this place. */
export function withProgramName(style: TerminalStyle, words: string): string {
  const { program } = style
  return program === undefined ? words : words.replace(/\btroupe(?= [a-z])/g, () => program)
}

export type TextSpan = string | readonly [TextStyle, string]

/** Spans as one line that fits; what is too long is clipped at the end. */
export function renderLine(style: TerminalStyle, spans: readonly TextSpan[]): string {
  let left = style.width
  let text = ''
  for (const span of spans) {
    const [textStyle, words] = typeof span === 'string' ? [undefined, span] : span
    if (words === '' || left <= 0) continue
    const shown = truncateToWidth(words, left)
    left = shown === words ? left - displayWidth(words) : 0
    text += textStyle ? style.paint(textStyle, shown) : shown
  }
  return text
}

export function spansWidth(spans: readonly TextSpan[]): number {
  return spans.reduce((sum, span) => sum + displayWidth(typeof span === 'string' ? span : span[1]), 0)
}
