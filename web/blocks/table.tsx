import type { ReactNode } from 'react'
import { useMemo, useRef, useState } from 'react'
import type { PanelBlock, PanelColumn, PanelValue } from '../../src/views/panel.ts'
import { inertText } from '../design/inert-text.ts'
import type { SortOrder } from './sort-rows.ts'
import { nextOrder, sortRows } from './sort-rows.ts'
import { isAmount, Value } from './value.tsx'
import { useVirtualRows } from './virtual-rows.ts'
import { useIsDecision } from './whole-text.tsx'

type Table = Extract<PanelBlock, { kind: 'table' }>
type Row = Readonly<Record<string, PanelValue>>

/** Longer tables have rows of one height and scroll on their own. */
const LONG_TABLE = 100
const ROW_HEIGHT = 32
/** Wider ones become a list of records where they do not fit. */
const FEW_COLUMNS = 3

export function TableBlock({ block }: { block: Table }): ReactNode {
  const [order, setOrder] = useState<SortOrder | null>(null)
  const isDecision = useIsDecision()
  const rows = useMemo(() => sortRows(block.rows, order), [block.rows, order])
  const columns = useMemo(() => columnsWithValues(block), [block])
  if (rows.length === 0) return <p className="empty">{inertText(block.empty ?? 'Nothing yet.')}</p>
  const head = <TableHead columns={columns} order={order} onSort={(key) => setOrder(nextOrder(order, key))} />
  // Rows of one height cut long cells, which nobody may decide about.
  if (rows.length > LONG_TABLE && !isDecision) return <LongTable columns={columns} rows={rows} head={head} />
  const isWide = columns.length > FEW_COLUMNS
  return (
    <div className="scroll-x table-frame">
      {isWide && rows.length > 1 && <SortChoice columns={columns} order={order} onOrder={setOrder} />}
      <table className={isWide ? 'table table-wide' : 'table'}>
        {head}
        <tbody>
          {rows.map((row, index) => (
            <TableRow key={rowKey(row, index)} row={row} columns={columns} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A column without any value says nothing. */
function columnsWithValues({ columns, rows }: Table): readonly PanelColumn[] {
  const shown = columns.filter(({ key }) => rows.some((row) => (row[key] ?? null) !== null))
  return shown.length === 0 ? columns : shown
}

function LongTable({ columns, rows, head }: { columns: Table['columns']; rows: readonly Row[]; head: ReactNode }) {
  const scroller = useRef<HTMLDivElement>(null)
  const visible = useVirtualRows({ count: rows.length, rowHeight: ROW_HEIGHT, scroller })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area is reachable by keyboard
    <section className="scroll-both" ref={scroller} onScroll={visible.onScroll} tabIndex={0} aria-label="Rows">
      <table className="table table-long" aria-rowcount={rows.length + 1}>
        {head}
        <tbody>
          <Spacer height={visible.above} columns={columns.length} />
          {rows.slice(visible.first, visible.end).map((row, index) => (
            <TableRow key={rowKey(row, visible.first + index)} row={row} columns={columns} />
          ))}
          <Spacer height={visible.below} columns={columns.length} />
        </tbody>
      </table>
    </section>
  )
}

function Spacer({ height, columns }: { height: number; columns: number }): ReactNode {
  if (height === 0) return null
  return (
    <tr>
      <td className="spacer" colSpan={columns} style={{ height }} />
    </tr>
  )
}

interface TableHeadProps {
  columns: readonly PanelColumn[]
  order: SortOrder | null
  onSort(key: string): void
}

function TableHead({ columns, order, onSort }: TableHeadProps): ReactNode {
  return (
    <thead>
      <tr>
        {columns.map(({ key, title, unit }) => {
          const direction = order?.key === key ? (order.descending ? 'descending' : 'ascending') : 'none'
          return (
            <th key={key} scope="col" aria-sort={direction} className={isAmount(unit) ? 'right' : undefined}>
              <button type="button" className="sort" onClick={() => onSort(key)}>
                {inertText(title)}
                {direction !== 'none' && (
                  <span aria-hidden="true" className="sort-mark">
                    {direction === 'ascending' ? '▲' : '▼'}
                  </span>
                )}
              </button>
            </th>
          )
        })}
      </tr>
    </thead>
  )
}

interface SortChoiceProps {
  columns: readonly PanelColumn[]
  order: SortOrder | null
  onOrder(order: SortOrder | null): void
}

/** For the list of records, which has no titles of columns. */
function SortChoice({ columns, order, onOrder }: SortChoiceProps): ReactNode {
  const orders = columns.flatMap(({ key, title }) =>
    [false, true].map((descending) => ({ order: { key, descending }, title })),
  )
  const chosen = orders.findIndex((each) => each.order.key === order?.key && each.order.descending === order.descending)
  return (
    <label className="table-sort">
      Sort by
      <select
        className="field"
        value={chosen}
        onChange={({ target }) => onOrder(orders[Number(target.value)]?.order ?? null)}
      >
        <option value={-1}>original order</option>
        {orders.map(({ order: { key, descending }, title }, index) => (
          <option key={`${key} ${descending}`} value={index}>
            {inertText(title)}, {descending ? 'descending' : 'ascending'}
          </option>
        ))}
      </select>
    </label>
  )
}

function TableRow({ row, columns }: { row: Row; columns: readonly PanelColumn[] }): ReactNode {
  return (
    <tr>
      {columns.map(({ key, title, unit }) => (
        <td
          key={key}
          className={isAmount(unit) ? 'right' : undefined}
          data-title={inertText(title)}
          data-empty={(row[key] ?? null) === null || undefined}
        >
          <Value value={row[key] ?? null} unit={unit} />
        </td>
      ))}
    </tr>
  )
}

function rowKey(row: Row, index: number): string {
  return `${index} ${row.id ?? ''}`
}
