import type { AccountKey, AccountSum } from '../../../index.ts'
import { formatCompactCount, formatCount, formatUsd, pluralize } from './format-amount.ts'
import type { TerminalStyle } from './styled-line.ts'
import type { Column } from './table.ts'
import { renderTable } from './table.ts'
import { toTerminalLine, wrapText } from './text-width.ts'

/** What calls used and cost, in groups, with what all of them come to. */
export function costTable(groups: readonly AccountSum[], by: AccountKey, style: TerminalStyle): string[] {
  const total = groups.length > 1 ? groups.at(-1) : undefined
  const columns: Column<AccountSum>[] = [
    {
      title: by,
      text: ({ group }) => toTerminalLine(group),
      flexible: true,
      textStyle: (row) => (row === total ? 'bold' : undefined),
    },
    { title: 'calls', text: ({ calls }) => formatCompactCount(calls), align: 'right', dropBelow: 6 },
    { title: 'cost', text: formatCost, align: 'right', textStyle: ({ usd }) => (usd === null ? 'yellow' : undefined) },
    { title: 'input', text: ({ usage }) => formatCompactCount(usage.input), align: 'right', dropBelow: 8 },
    { title: 'output', text: ({ usage }) => formatCompactCount(usage.output), align: 'right', dropBelow: 8 },
    // From here on the last goes first where it is narrow.
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
  const told = columns.filter(
    (column) => !OPTIONAL_COLUMNS.has(column.title) || groups.some((row) => !empty.has(column.text(row))),
  )
  return renderTable(groups, told, style)
}

/** Left out where there is none of it. */
const OPTIONAL_COLUMNS = new Set(['cached', 'written', 'reasoning', 'lost'])

/** `$0.42`; `?` where no price is known, `$0.42+?` where some are. */
export function formatCost({ usd, known_usd }: Pick<AccountSum, 'usd' | 'known_usd'>): string {
  if (usd !== null) return formatUsd(usd)
  return known_usd === 0 ? '?' : `${formatUsd(known_usd)}+?`
}

export interface CostNotes {
  total: AccountSum
  unpriced_models: readonly string[]
  /** Calls that forks brought along. */
  inherited: number
}

/** What the figures do not say. */
export function costNotes({ total, unpriced_models, inherited }: CostNotes, style: TerminalStyle): string[] {
  const { unpriced, estimated, lost, open, failed } = total
  const notes: string[] = []
  if (unpriced > 0) {
    const which = unpriced_models.map(toTerminalLine).join(', ')
    notes.push(`? the price of ${pluralize(unpriced, 'call')} is not known (${which}); give it with --prices FILE`)
  }
  if (lost.calls > 0) {
    const worth = lost.usd === null ? 'at a price that is not known' : formatUsd(lost.usd)
    notes.push(
      `${pluralize(lost.calls, 'call')} lost with a crash or an abort: at most ${formatCount(lost.tokens)} tokens, ${worth}, not in the cost`,
    )
  }
  if (estimated.calls > 0) {
    notes.push(
      `${pluralize(estimated.calls, 'call')} without a reported usage: counted as the ${formatCount(estimated.tokens)} tokens set aside`,
    )
  }
  if (failed > 0) notes.push(`${pluralize(failed, 'call')} of these failed`)
  if (open.calls > 0) notes.push(`${pluralize(open.calls, 'call')} in flight or cut off: not counted yet`)
  if (inherited > 0) notes.push(`${pluralize(inherited, 'call')} came with a fork: counted where they were made`)
  return notes.flatMap((note) => wrapText(note, style.width, 2))
}
