import type { TextSpan } from './styled-line.ts'

export interface ProgressLine {
  /** Agent name, and depth for the indentation. */
  speaker?: { agent: string; depth: number } | undefined
  spans: readonly TextSpan[]
}
