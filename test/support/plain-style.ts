import type { TerminalStyle } from '../../src/surfaces/cli/render/styled-line.ts'

/** A style without colours. */
export function plainStyle(width: number): TerminalStyle {
  return { width, paint: (_style, text) => text }
}
