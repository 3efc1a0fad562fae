import { displayWidth, toTerminalText, truncateToWidth } from '../../../views/text-width.ts'

export type TextStyle = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'
export type TextSpan = string | readonly [TextStyle, string]
export type TextLine = readonly TextSpan[]

/** Width, character set and colours of an output stream. */
export interface TerminalStyle {
  width: number
  /** The terminal supports ASCII only. */
  ascii?: boolean
  /** Replaces `troupe` in the commands of hints: a clone has no such command on the PATH. */
  program?: string
  paint(textStyle: TextStyle, text: string): string
}

/** Makes the `troupe` commands in a text copyable. */
export function withProgramName(style: TerminalStyle, text: string): string {
  const { program } = style
  return program === undefined ? text : text.replace(/\btroupe(?= [a-z])/g, () => program)
}

/** Renders spans as one line, truncated to the width. */
export function renderLine(style: TerminalStyle, spans: readonly TextSpan[]): string {
  let available = style.width
  let line = ''
  for (const span of spans) {
    const [textStyle, text] = typeof span === 'string' ? [undefined, span] : span
    if (text === '' || available <= 0) continue
    const shown = truncateToWidth(text, available)
    available = shown === text ? available - displayWidth(text) : 0
    line += textStyle ? style.paint(textStyle, shown) : shown
  }
  return line
}

export function spansWidth(spans: readonly TextSpan[]): number {
  return spans.reduce((sum, span) => sum + displayWidth(typeof span === 'string' ? span : span[1]), 0)
}

/** Renders a line of a pattern's view: its text may come from models, so terminal escapes are removed (escape injection). */
export function renderPatternLine(style: TerminalStyle, line: TextLine): string {
  const clean = line.map(
    (span): TextSpan => (typeof span === 'string' ? toTerminalText(span) : [span[0], toTerminalText(span[1])]),
  )
  const rendered = renderLine(style, clean)
  return style.ascii ? rendered.replaceAll('…', '~') : rendered
}
