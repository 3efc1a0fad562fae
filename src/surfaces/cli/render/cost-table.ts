import type { AccountKey, AccountSum } from '../../../entries/inspect.ts'
import { missingPriceNotes } from '../../../views/cost-report.ts'
import { formatCompactCount, formatCount, formatUsd, pluralize } from '../../../views/format-amount.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { TerminalStyle } from './styled-line.ts'
import type { Column } from './table.ts'
import { renderTable } from './table.ts'

/** Usage and cost by group; with `hasTotal` the last row is the total. */
export function costTable(
  groups: readonly AccountSum[],
  { groupKey, hasTotal }: { groupKey: AccountKey; hasTotal: boolean },
  style: TerminalStyle,
): string[] {
  const total = hasTotal ? groups.at(-1) : undefined
  const columns: Column<AccountSum>[] = [
    {
      title: groupKey,
      text: ({ group }) => toTerminalLine(group),
      flexible: true,
      textStyle: (row) => (row === total ? 'bold' : undefined),
    },
    { title: 'calls', text: ({ calls }) => formatCompactCount(calls), align: 'right', dropBelow: 6 },
    { title: 'cost', text: formatCost, align: 'right', textStyle: ({ usd }) => (usd === null ? 'yellow' : undefined) },
    { title: 'input', text: ({ usage }) => formatCompactCount(usage.input), align: 'right', dropBelow: 8 },
    { title: 'output', text: ({ usage }) => formatCompactCount(usage.output), align: 'right', dropBelow: 8 },
    // On narrow terminals these columns are dropped from the right.
    {
      title: 'lost',
      text: ({ lost }) => (lost.calls === 0 ? '' : formatCompactCount(lost.tokens)),
      align: 'right',
      dropBelow: 12,
    },
    { title: 'cached', text: ({ usage }) => formatCompactCount(usage.cache_read), align: 'right', dropBelow: 12 },
    { title: 'reasoning', text: ({ usage }) => formatCompactCount(usage.reasoning), align: 'right', dropBelow: 16 },
    { title: 'written', text: ({ usage }) => formatCompactCount(usage.cache_write), align: 'right', dropBelow: 16 },
  ]
  const empty = new Set(['', '0'])
  const visible = columns.filter(
    (column) => !OPTIONAL_COLUMNS.has(column.title) || groups.some((row) => !empty.has(column.text(row))),
  )
  return renderTable(groups, visible, style)
}

/** Hidden when all cells are empty. */
const OPTIONAL_COLUMNS = new Set(['cached', 'written', 'reasoning', 'lost'])

/** `$0.42`; `?` without a known price, `$0.42+?` when only some are known. */
export function formatCost({ usd, known_usd }: Pick<AccountSum, 'usd' | 'known_usd'>): string {
  if (usd !== null) return formatUsd(usd)
  return known_usd === 0 ? '?' : `${formatUsd(known_usd)}+?`
}

export interface CostNotes {
  total: AccountSum
  unpriced_models: readonly string[]
  /** Requests copied by forks. */
  inherited: number
}

export function costNotes({ total, unpriced_models, inherited }: CostNotes, style: TerminalStyle): string[] {
  const { unpriced, estimated, lost, open, failed } = total
  const notes: string[] = []
  if (unpriced > 0) {
    const models = unpriced_models.map(toTerminalLine).join(', ')
    notes.push(`? ${pluralize(unpriced, 'call')} without a known price (${models}); pass --prices FILE`)
    notes.push(...missingPriceNotes(unpriced_models).map(toTerminalLine))
  }
  if (lost.calls > 0) {
    const cost = lost.usd === null ? 'unknown price' : formatUsd(lost.usd)
    notes.push(
      `${pluralize(lost.calls, 'call')} lost in a crash or an abort: at most ${formatCount(lost.tokens)} tokens, ${cost}, not included`,
    )
  }
  if (estimated.calls > 0) {
    notes.push(
      `${pluralize(estimated.calls, 'call')} without usable usage figures: estimated at ${formatCount(estimated.tokens)} tokens`,
    )
  }
  if (failed > 0) notes.push(`${pluralize(failed, 'call')} of these failed`)
  if (open.calls > 0) notes.push(`${pluralize(open.calls, 'call')} in flight or interrupted: not counted yet`)
  if (inherited > 0) notes.push(`${pluralize(inherited, 'call')} copied by a fork: counted in the original run`)
  return notes.flatMap((note) => wrapText(note, style.width, 2))
}
