import type { PanelBlock, PanelBlockHead, PanelFact, PanelTone, PanelUnit, PanelValue } from './panel.ts'

/* Makes blocks of panels; what has nothing to show is left out. */

/** A column: its title, the value of an item in it, and how that is shown. */
type ColumnOf<Item> = readonly [title: string, value: (item: Item) => PanelValue | undefined, unit?: PanelUnit]

/** A table with a row for each item; none without items, unless it says so. */
export function tableBlock<Item>(
  head: PanelBlockHead & { empty?: string },
  items: readonly Item[],
  columns: Readonly<Record<string, ColumnOf<Item>>>,
): PanelBlock[] {
  if (items.length === 0 && head.empty === undefined) return []
  const entries = Object.entries(columns)
  return [
    {
      kind: 'table',
      ...head,
      columns: entries.map(([key, [title, , unit]]) => ({ key, title, ...(unit ? { unit } : undefined) })),
      rows: items.map((item) => Object.fromEntries(entries.map(([key, [, value]]) => [key, value(item) ?? null]))),
    },
  ]
}

/** A fact as a list; left out where its value is undefined. */
export type FactEntry = readonly [
  label: string,
  value: PanelValue | undefined,
  unit?: PanelUnit | '',
  tone?: PanelTone | undefined,
]

export function presentFacts(entries: readonly FactEntry[]): PanelFact[] {
  return entries.flatMap(([label, value, unit, tone]) =>
    value === undefined ? [] : { label, value, ...(unit ? { unit } : undefined), ...(tone ? { tone } : undefined) },
  )
}

/** A text in the words of an agent, or of nobody. */
export function textBlock(
  head: PanelBlockHead & { claimed_by?: string },
  text: string | null | undefined,
): PanelBlock[] {
  return text === null || text === undefined || text.trim() === '' ? [] : [{ kind: 'text', ...head, text }]
}
