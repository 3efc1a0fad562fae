import type { TextSpan } from './styled-line.ts'

/** A line of progress: who speaks, how far it is indented, and what it says. */
export interface ProgressLine {
  who?: { agent: string; depth: number } | undefined
  spans: readonly TextSpan[]
}
