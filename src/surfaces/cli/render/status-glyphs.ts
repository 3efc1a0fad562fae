import type { TextStyle } from './styled-line.ts'

export const STATUS_GLYPHS: Record<string, readonly [TextStyle, string]> = {
  completed: ['green', '✓'],
  partial: ['yellow', '◐'],
  ok: ['green', '✓'],
  failed: ['red', '✗'],
  cancelled: ['yellow', '■'],
  waiting: ['yellow', '?'],
  running: ['cyan', '●'],
  pending: ['dim', '○'],
}
