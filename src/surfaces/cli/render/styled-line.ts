import { displayWidth, truncateToWidth } from './text-width.ts'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** What text is rendered for: how wide the place is, and how to colour, if at all. */
export interface Look {
  width: number
  /** The place shows no characters beyond ASCII. */
  ascii?: boolean
  /** What stands for `troupe` in a command that is to be typed: from a clone there is no such command in the path. */
  program?: string
  paint(style: Style, text: string): string
}

/** A look for places that show no colours. */
export function plainLook(width: number): Look {
  return { width, paint: (_style, text) => text }
}

/** Words with commands in them, as they can be typed in this place. */
export function withProgramName(look: Look, words: string): string {
  const { program } = look
  return program === undefined ? words : words.replace(/\btroupe(?= [a-z])/g, () => program)
}

export type TextSpan = string | readonly [Style, string]

/** Spans as one line that fits; what is too long is clipped at the end. */
export function renderLine(look: Look, spans: readonly TextSpan[]): string {
  let left = look.width
  let text = ''
  for (const span of spans) {
    const [style, words] = typeof span === 'string' ? [undefined, span] : span
    if (words === '' || left <= 0) continue
    const shown = truncateToWidth(words, left)
    left = shown === words ? left - displayWidth(words) : 0
    text += style ? look.paint(style, shown) : shown
  }
  return text
}

export function spansWidth(spans: readonly TextSpan[]): number {
  return spans.reduce((sum, span) => sum + displayWidth(typeof span === 'string' ? span : span[1]), 0)
}
