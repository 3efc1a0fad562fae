import type { AccountKey, AccountSum } from '../../../index.ts'
import { counted, exact, money, short } from './amounts.ts'
import type { Look } from './line.ts'
import type { Column } from './table.ts'
import { table } from './table.ts'
import { oneLine, wrap } from './width.ts'

/** What calls used and cost, in groups, with what all of them come to. */
export function costTable(groups: readonly AccountSum[], by: AccountKey, look: Look): string[] {
  const total = groups.length > 1 ? groups.at(-1) : undefined
  const columns: Column<AccountSum>[] = [
    {
      title: by,
      text: ({ group }) => oneLine(group),
      flexible: true,
      style: (row) => (row === total ? 'bold' : undefined),
    },
    { title: 'calls', text: ({ calls }) => short(calls), side: 'right', dropBelow: 6 },
    { title: 'cost', text: costText, side: 'right', style: ({ usd }) => (usd === null ? 'yellow' : undefined) },
    { title: 'input', text: ({ usage }) => short(usage.input), side: 'right', dropBelow: 8 },
    { title: 'output', text: ({ usage }) => short(usage.output), side: 'right', dropBelow: 8 },
    // From here on the last goes first where it is narrow.
    { title: 'lost', text: ({ lost }) => (lost.calls === 0 ? '' : short(lost.tokens)), side: 'right', dropBelow: 12 },
    { title: 'cached', text: ({ usage }) => short(usage.cache_read), side: 'right', dropBelow: 12 },
    { title: 'reasoning', text: ({ usage }) => short(usage.reasoning), side: 'right', dropBelow: 16 },
    { title: 'written', text: ({ usage }) => short(usage.cache_write), side: 'right', dropBelow: 16 },
  ]
  const empty = new Set(['', '0'])
  const told = columns.filter(
    (column) => !OPTIONAL.has(column.title) || groups.some((row) => !empty.has(column.text(row))),
  )
  return table(groups, told, look)
}

/** Left out where there is none of it. */
const OPTIONAL = new Set(['cached', 'written', 'reasoning', 'lost'])

/** `$0.42`; `?` where no price is known, `$0.42+?` where some are. */
export function costText({ usd, known_usd }: Pick<AccountSum, 'usd' | 'known_usd'>): string {
  if (usd !== null) return money(usd)
  return known_usd === 0 ? '?' : `${money(known_usd)}+?`
}

export interface CostNotes {
  total: AccountSum
  unpriced_models: readonly string[]
  /** Calls that forks brought along. */
  inherited: number
}

/** What the figures do not say. */
export function costNotes({ total, unpriced_models, inherited }: CostNotes, look: Look): string[] {
  const { unpriced, estimated, lost, open, failed } = total
  const notes: string[] = []
  if (unpriced > 0) {
    const which = unpriced_models.map(oneLine).join(', ')
    notes.push(`? the price of ${counted(unpriced, 'call')} is not known (${which}); give it with --prices FILE`)
  }
  if (lost.calls > 0) {
    const worth = lost.usd === null ? 'at a price that is not known' : money(lost.usd)
    notes.push(
      `${counted(lost.calls, 'call')} lost with a crash or an abort: at most ${exact(lost.tokens)} tokens, ${worth}, not in the cost`,
    )
  }
  if (estimated.calls > 0) {
    notes.push(
      `${counted(estimated.calls, 'call')} without a reported usage: counted as the ${exact(estimated.tokens)} tokens set aside`,
    )
  }
  if (failed > 0) notes.push(`${counted(failed, 'call')} of these failed`)
  if (open.calls > 0) notes.push(`${counted(open.calls, 'call')} in flight or cut off: not counted yet`)
  if (inherited > 0) notes.push(`${counted(inherited, 'call')} came with a fork: counted where they were made`)
  return notes.flatMap((note) => wrap(note, look.width, 2))
}
