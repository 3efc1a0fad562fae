import type { ErrorRecord } from '../errors.ts'
import { toTerminalLine } from './text-width.ts'

/** `code: message` in one line. */
export function errorSummary(error: Pick<ErrorRecord, 'code' | 'message'>): string {
  return `${error.code}: ${toTerminalLine(error.message)}`
}
