import { MARK } from '../kernel/template-marks.ts'

/**
 * Reverts `escapeTemplateMarks`: agents quote what they have read in the arguments of their tool calls. Without `wasShown` for the escaped mark, it
 * is the agent's own text, such as the regular expression `/<\\|im_start\\|>/`, and stays.
 */
export function unescapeTemplateMarks(text: string, wasShown: (mark: string) => boolean = () => true): string {
  return text.replace(MARK, (mark) => (mark[1] === '\\' && wasShown(mark) ? mark.slice(0, 1) + mark.slice(2) : mark))
}

/** Reverts the escapes of shown marks in all strings of a JSON value. Without any, it is the same object. */
export function unescapeTemplateMarksIn(value: unknown, wasShown: (mark: string) => boolean): unknown {
  const revert = (item: unknown) => unescapeTemplateMarksIn(item, wasShown)
  if (typeof value === 'string') return unescapeTemplateMarks(value, wasShown)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const reverted = entries.map(([name, each]) => [name, revert(each)] as const)
  if (reverted.every(([, each], index) => each === entries[index]?.[1])) return value
  return Array.isArray(value) ? reverted.map(([, each]) => each) : Object.fromEntries(reverted)
}

/** Whether a text has a word or number besides marks. */
export function hasWords(text: string): boolean {
  return /[\p{L}\p{N}\p{So}]/u.test(text.replace(MARK, ''))
}
