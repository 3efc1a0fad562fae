import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { RunItem } from '../../src/surfaces/http/contract.ts'
import { Button, Key } from '../design/controls.tsx'
import { formatCount, formatCountOf } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { EmptyState, ErrorState, LoadingRows } from '../design/notice.tsx'
import { announce } from '../shell/live-region.tsx'
import { hasScope, useNarrow, useNow, usePage } from '../shell/page-context.ts'
import { navigate, runPlace } from '../shell/router.ts'
import { CancelDialog } from './cancel-dialog.tsx'
import { FilterBar } from './filter-bar.tsx'
import { NewRunDialog } from './new-run-dialog.tsx'
import type { ListItem } from './run-list.ts'
import { holdOrder, listRuns, movedRuns, runState, sameItems } from './run-list.ts'
import { addTag, parseFilter } from './run-query.ts'
import { RunTable } from './run-table.tsx'
import { useRunKeys } from './use-run-keys.ts'
import { useRuns } from './use-runs.ts'
import { useSummaries } from './use-summaries.ts'

const TYPING_MS = 180
const WIDE_ROW = 34
const NARROW_ROW = 80

export function RunsPage({ query }: { query: string }) {
  const { source, session } = usePage()
  const [text, setText] = useFilterText(query)
  const found = useRuns(query)
  const { runs, live, hasMore, loadMore } = found
  const byId = useMemo(() => new Map((runs ?? []).map((run) => [run.run_id, run])), [runs])
  const [inView, setInView] = useState<readonly string[]>([])
  const summaries = useSummaries(useRunsToSummarize(byId, live, inView))
  const [held, setHeld] = useState(false)
  const list = useList({ query: found.query, runs, summaries, held })
  const scroller = useRef<HTMLDivElement>(null)
  const fieldRef = useRef<HTMLInputElement>(null)
  const [dialog, setDialog] = useState<'new' | readonly RunItem[] | null>(null)
  const rowHeight = useNarrow() ? NARROW_ROW : WIDE_ROW
  const mayRun = source.commands !== null && hasScope(session, 'run')
  const open = useCallback((runId: string) => navigate(runPlace(runId)), [])
  const tag = useCallback((name: string) => setText(addTag(text, name)), [text, setText])
  const keys = useRunKeys({
    items: list.items,
    runs: byId,
    rowHeight,
    scroller,
    onOpen: open,
    onFilter: () => fieldRef.current?.focus(),
    onCancel: mayRun ? setDialog : null,
  })
  const onView = useCallback(
    (ids: readonly string[], nearEnd: boolean) => {
      setInView(ids)
      if (nearEnd && hasMore) loadMore()
    },
    [hasMore, loadMore],
  )
  useEndNews(live)
  return (
    <div className="runs-page">
      <h1 className="visually-hidden">Runs</h1>
      <FilterBar
        text={text}
        onChange={setText}
        fieldRef={fieldRef}
        live={live}
        summaries={summaries}
        counts={found.counts}
        onNewRun={mayRun ? () => setDialog('new') : null}
      />
      <section className="run-scroller" ref={scroller} aria-label="List of runs" tabIndex={-1}>
        {runs === null ? (
          <Waiting error={found.error} onRetry={found.reload} />
        ) : list.items.length === 0 ? (
          <NoRuns query={found.query} onClear={() => setText('')} />
        ) : (
          <RunTable
            items={list.items}
            runs={byId}
            summaries={summaries}
            rowHeight={rowHeight}
            current={keys.current}
            selected={keys.selected}
            scroller={scroller}
            onOpen={open}
            onTag={tag}
            onCurrent={keys.setCurrent}
            onHold={setHeld}
            onView={onView}
          />
        )}
      </section>
      {list.moved > 0 ? (
        <Button className="moved-rows" onClick={list.apply}>
          {list.moved} moved
        </Button>
      ) : null}
      <Footer
        counts={found.counts}
        shown={list.items.filter(({ kind }) => kind === 'run').length}
        selected={keys.selected.size}
      />
      {dialog === 'new' ? <NewRunDialog onClose={() => setDialog(null)} /> : null}
      {dialog !== null && dialog !== 'new' ? (
        <CancelDialog runs={dialog} onClose={() => setDialog(null)} onDone={keys.clearSelection} />
      ) : null}
    </div>
  )
}

/** The text of the field; the address and with it the list follow when the typing stops. */
function useFilterText(query: string): [string, (text: string) => void] {
  const [text, setText] = useState(query)
  const typed = useRef<string | null>(null)
  useEffect(() => {
    if (typed.current === query) return
    typed.current = null
    setText(query)
  }, [query])
  useEffect(() => {
    if (text === query || typed.current === null) return
    const timer = setTimeout(() => navigate({ page: 'runs', query: text }, { replace: true }), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text, query])
  const change = useCallback((next: string) => {
    typed.current = next
    setText(next)
  }, [])
  return [text, change]
}

/** Rows in view, and all live runs, since a stall moves a run to the top. */
function useRunsToSummarize(
  runs: ReadonlyMap<string, RunItem>,
  live: readonly RunItem[],
  inView: readonly string[],
): RunItem[] {
  return useMemo(() => {
    const visible = inView.flatMap((id) => runs.get(id) ?? [])
    return [...new Map([...live.slice(0, 100), ...visible].map((run) => [run.run_id, run])).values()]
  }, [runs, live, inView])
}

interface ListState {
  items: readonly ListItem[]
  moved: number
  apply: () => void
}

/** The rows; in a fixed order while the pointer or the focus is on them. */
function useList(input: {
  query: string
  runs: readonly RunItem[] | null
  summaries: Parameters<typeof listRuns>[0]['summaries']
  held: boolean
}): ListState {
  const { query, runs, summaries, held } = input
  const now = useNow(60_000)
  const wanted = useMemo(
    () => listRuns({ runs: runs ?? [], summaries, states: parseFilter(query).states, now }),
    [query, runs, summaries, now],
  )
  const [shown, setShown] = useState<{ query: string; items: readonly ListItem[] }>({ query, items: wanted })
  const items = held && shown.query === query && shown.items.length > 0 ? holdOrder(shown.items, wanted) : wanted
  if (shown.query !== query || !sameItems(items, shown.items)) setShown({ query, items })
  return { items, moved: movedRuns(items, wanted), apply: () => setShown({ query, items: wanted }) }
}

/** Announces runs that ended since the last look. */
function useEndNews(live: readonly RunItem[]): void {
  const { source } = usePage()
  const before = useRef<readonly RunItem[]>([])
  useEffect(() => {
    const now = new Set(live.map(({ run_id }) => run_id))
    const ended = before.current.filter(({ run_id }) => !now.has(run_id))
    before.current = live
    if (ended.length === 0 || ended.length > 3) return
    for (const { run_id, title } of ended) {
      const tell = async () =>
        announce(`${inertLine(title, 80)}: ${runState(await source.run(run_id), undefined).state}`)
      void tell().catch(() => undefined)
    }
  }, [live, source])
}

function Waiting({ error, onRetry }: { error: Error | null; onRetry: () => void }) {
  if (error === null) return <LoadingRows rows={14} height={WIDE_ROW} />
  return (
    <ErrorState title="The runs cannot be loaded." action={<Button onClick={onRetry}>Try again</Button>}>
      {inertLine(error.message, 300)}
    </ErrorState>
  )
}

function NoRuns({ query, onClear }: { query: string; onClear: () => void }) {
  if (query.trim() !== '')
    return (
      <EmptyState title={`Nothing matches ${inertLine(query, 80)}.`}>
        <Button onClick={onClear}>Clear the filter</Button>
      </EmptyState>
    )
  return (
    <EmptyState title="No runs yet.">
      Start one: <code>troupe run PATTERN "…"</code>. It appears here at once.
    </EmptyState>
  )
}

const FOOTER_KEYS: readonly [readonly string[], string][] = [
  [['J', 'K'], 'move'],
  [['Enter'], 'open'],
  [['/'], 'filter'],
  [['X'], 'select'],
  [['C'], 'cancel'],
  [['?'], 'all keys'],
]

function Footer({
  counts,
  shown,
  selected,
}: {
  counts: Readonly<Record<string, number>>
  shown: number
  selected: number
}) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  return (
    <footer className="runs-footer">
      {FOOTER_KEYS.map(([keys, label]) => (
        <span key={label} className="footer-key">
          {keys.map((key) => (
            <Key key={key}>{key}</Key>
          ))}
          {label}
        </span>
      ))}
      <span className="grow" />
      <span>
        {selected > 0 ? `${selected} selected, ` : ''}
        {formatCountOf(Math.max(total, shown), 'run')}
        {shown < total && `, ${formatCount(shown)} shown`}
      </span>
    </footer>
  )
}
