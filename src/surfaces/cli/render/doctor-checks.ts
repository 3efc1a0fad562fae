import { padToWidth, toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { TerminalStyle, TextStyle } from './styled-line.ts'

export interface DoctorCheck {
  name: string
  status: 'ok' | 'warning' | 'error'
  message: string
  hint: string
}

const CHECK_SYMBOLS: Record<DoctorCheck['status'], readonly [TextStyle, string]> = {
  ok: ['green', '✓'],
  warning: ['yellow', '!'],
  error: ['red', '✗'],
}

const NAME_WIDTH = 9

export function doctorCheckLines(checks: readonly DoctorCheck[], style: TerminalStyle): string[] {
  return checks.flatMap(({ name, status, message, hint }) => {
    const [textStyle, symbol] = CHECK_SYMBOLS[status]
    const margin = NAME_WIDTH + 3
    const messageLines = wrapText(`${' '.repeat(margin)}${toTerminalLine(message)}`, style.width, margin)
    const first = `${style.paint(textStyle, symbol)} ${padToWidth(name, NAME_WIDTH)} ${(messageLines[0] ?? '').slice(margin)}`
    const hintLines = hint === '' ? [] : wrapText(`${' '.repeat(margin)}${hint}`, style.width, margin)
    return [first, ...messageLines.slice(1), ...hintLines.map((text) => style.paint('dim', text))]
  })
}
