import type { Look, Style } from './styled-line.ts'
import { padToWidth, toTerminalLine, wrapText } from './text-width.ts'

export interface DoctorCheck {
  name: string
  status: 'ok' | 'warning' | 'error'
  message: string
  hint: string
}

const CHECK_SYMBOLS: Record<DoctorCheck['status'], readonly [Style, string]> = {
  ok: ['green', '✓'],
  warning: ['yellow', '!'],
  error: ['red', '✗'],
}

const NAME_WIDTH = 9

export function doctorCheckLines(checks: readonly DoctorCheck[], look: Look): string[] {
  return checks.flatMap(({ name, status, message, hint }) => {
    const [style, sign] = CHECK_SYMBOLS[status]
    const margin = NAME_WIDTH + 3
    const said = wrapText(`${' '.repeat(margin)}${toTerminalLine(message)}`, look.width, margin)
    const first = `${look.paint(style, sign)} ${padToWidth(name, NAME_WIDTH)} ${(said[0] ?? '').slice(margin)}`
    const advice = hint === '' ? [] : wrapText(`${' '.repeat(margin)}${hint}`, look.width, margin)
    return [first, ...said.slice(1), ...advice.map((text) => look.paint('dim', text))]
  })
}
