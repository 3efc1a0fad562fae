import { useEffect, useState } from 'react'
import type { CostPage } from '../../src/surfaces/http/contract.ts'
import type { PanelBlock, PanelValue } from '../../src/views/panel.ts'
import { Blocks } from '../blocks/block.tsx'
import type { CostGrouping } from '../data/source.ts'
import { Segments } from '../design/controls.tsx'
import { capitalize } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { LoadingRows } from '../design/notice.tsx'
import { StateText } from '../design/state.tsx'
import { usePage } from '../shell/page-context.ts'

const GROUPINGS: readonly { value: CostGrouping; label: string }[] = [
  { value: 'pattern', label: 'By pattern' },
  { value: 'model', label: 'By model' },
  { value: 'agent', label: 'By agent' },
  { value: 'day', label: 'By day' },
]

/** Model requests, tokens and cost of all runs, by pattern, model, agent or day. */
export function CostCard() {
  const { source } = usePage()
  const [by, setBy] = useState<CostGrouping>('pattern')
  const [page, setPage] = useState<CostPage | Error | null>(null)
  useEffect(() => {
    let isCurrent = true
    const load = async () => (await source.cost?.(by)) ?? null
    load().then(
      (found) => isCurrent && setPage(found),
      (error: unknown) => isCurrent && setPage(error instanceof Error ? error : new Error(String(error))),
    )
    return () => {
      isCurrent = false
    }
  }, [source, by])
  if (source.cost === undefined) return null
  return (
    <section className="card metrics-report">
      <header className="metrics-head">
        <h2>Cost</h2>
        <span className="grow" />
        <Segments label="Group the cost by" options={GROUPINGS} value={by} onChange={setBy} />
      </header>
      {page === null ? (
        <LoadingRows rows={3} height={28} />
      ) : page instanceof Error ? (
        <StateText state="failed">{inertLine(page.message, 300)}</StateText>
      ) : (
        <CostFigures page={page} />
      )}
    </section>
  )
}

function CostFigures({ page }: { page: CostPage }) {
  return (
    <>
      <Blocks blocks={costBlocks(page)} />
      {page.unpriced_models.length === 0 ? null : (
        <p className="muted">
          No price is known for {page.unpriced_models.map((name) => inertLine(name, 60)).join(', ')}.
        </p>
      )}
    </>
  )
}

/** The totals as facts and the groups as a table. */
export function costBlocks({ by, groups, total }: CostPage): PanelBlock[] {
  return [
    {
      kind: 'facts',
      facts: [
        { label: 'cost', value: total.usd ?? total.known_usd, unit: 'usd' },
        { label: 'model requests', value: total.calls, unit: 'count' },
        { label: 'input', value: total.usage.input, unit: 'tokens' },
        { label: 'cached', value: total.usage.cache_read, unit: 'tokens' },
        { label: 'output', value: total.usage.output, unit: 'tokens' },
        { label: 'failed', value: total.failed, unit: 'count' },
      ],
    },
    {
      kind: 'table',
      columns: [
        { key: 'group', title: capitalize(by), unit: 'text' },
        { key: 'calls', title: 'Requests', unit: 'count' },
        { key: 'input', title: 'Input', unit: 'tokens' },
        { key: 'cached', title: 'Cached', unit: 'tokens' },
        { key: 'output', title: 'Output', unit: 'tokens' },
        { key: 'usd', title: 'Cost', unit: 'usd' },
      ],
      rows: groups.map(toRow),
      empty: 'No model was asked yet.',
    },
  ]
}

function toRow({ group, calls, usage, usd }: CostPage['groups'][number]): Record<string, PanelValue> {
  return { group, calls, input: usage.input, cached: usage.cache_read, output: usage.output, usd }
}
