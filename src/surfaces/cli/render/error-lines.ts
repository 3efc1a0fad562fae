import type { ErrorRecord } from '../../../errors.ts'
import { stripControlCharacters, wrapText } from '../../../views/text-width.ts'
import type { TerminalStyle } from './styled-line.ts'
import { withProgramName } from './styled-line.ts'

const ALTERNATIVES_SHOWN = 8

type ErrorText = Pick<ErrorRecord, 'message' | 'hint' | 'alternatives'>

/** Message, hint and alternatives, without repetitions. */
export function errorLines(error: ErrorText, style: TerminalStyle): string[] {
  const { message, hint, alternatives } = error
  const lines = labelledLines('error', message, style)
  if (hint !== '' && !message.includes(hint)) lines.push(...labelledLines('hint', withProgramName(style, hint), style))
  const unmentioned = alternatives.filter((name) => !message.includes(name) && !hint.includes(name))
  if (unmentioned.length > 0 && !listsAlternatives(error)) {
    const more = alternatives.length > ALTERNATIVES_SHOWN ? ` and ${alternatives.length - ALTERNATIVES_SHOWN} more` : ''
    lines.push(...labelledLines('known', alternatives.slice(0, ALTERNATIVES_SHOWN).join(', ') + more, style))
  }
  return lines
}

/** The message already lists the nearest alternatives. */
function listsAlternatives({ message, alternatives }: ErrorText): boolean {
  return alternatives[0] !== undefined && message.includes(alternatives[0])
}

const STYLES = { error: 'red', hint: 'yellow', known: 'dim' } as const

export function labelledLines(label: keyof typeof STYLES, text: string, style: TerminalStyle): string[] {
  const prefix = `${label}: `
  return wrapText(prefix + stripControlCharacters(text).trim(), style.width, 2).map((line, index) =>
    index === 0 ? style.paint(STYLES[label], prefix) + line.slice(prefix.length) : line,
  )
}
