import type { SourceFile } from '../support/source-file.ts'

export type SpecRule = { id: string; text: string; path: string; line: number }

export const ruleId = /^[A-Z]{1,3}\d+$/

const ruleLine = /^\s*(?:[-*+]\s+|\d+[.)]\s+)?\*\*([A-Z]{1,3}\d+)[.:]?\*\*[.:]?\s*(.*)$/

/** The numbered rules of one SPEC.md: lines that begin with a bold id, outside code blocks. */
export function specRules({ path, source }: SourceFile): SpecRule[] {
  const rules: SpecRule[] = []
  let fence: string | undefined
  for (const [index, line] of source.split('\n').entries()) {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1]
    if (mark && (fence === undefined || mark.startsWith(fence))) fence = fence === undefined ? mark : undefined
    const [, id, text] = (fence === undefined && ruleLine.exec(line)) || []
    if (id !== undefined) rules.push({ id, text: text ?? '', path, line: index + 1 })
  }
  return rules
}
