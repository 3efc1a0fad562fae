import { useEffect, useRef, useState } from 'react'
import { EmptyState } from '../design/notice.tsx'
import { InboxPage } from '../inbox/inbox-page.tsx'
import { MetricsPage } from '../metrics/metrics-page.tsx'
import { RunPage } from '../run/run-page.tsx'
import { RunsPage } from '../runs/runs-page.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import { HelpDialog } from './help-dialog.tsx'
import { useKeys } from './keys.ts'
import { Link } from './link.tsx'
import { announce, LiveRegion } from './live-region.tsx'
import { useConnection, useOpenQuestions, usePage } from './page-context.ts'
import type { Place } from './router.ts'
import { navigate, useRoute } from './router.ts'
import { SignedOut } from './signed-out.tsx'
import { nextTheme, setTheme, useTheme } from './theme.ts'
import { TopBar } from './top-bar.tsx'

export function App() {
  const place = useRoute()
  const searchRef = useRef<HTMLInputElement>(null)
  const [help, setHelp] = useState(false)
  const theme = useTheme()
  const connection = useConnection()
  useTitle(place)
  useQuestionNews()
  useKeys(
    'Everywhere',
    [
      { keys: '?', label: 'All keys', run: () => setHelp(true) },
      { keys: '/', label: 'Search', run: () => searchRef.current?.focus() },
      { keys: 'g r', label: 'Runs', run: () => navigate({ page: 'runs', query: '' }) },
      { keys: 'g i', label: 'Inbox', run: () => navigate({ page: 'inbox', gateId: null }) },
      { keys: 'g m', label: 'Metrics', run: () => navigate({ page: 'metrics' }) },
      {
        keys: 't',
        label: 'Light, dark, or as the system',
        run: () => {
          const next = nextTheme(theme)
          setTheme(next)
          announce(`Theme: ${next}`)
        },
      },
    ],
    'frame',
  )
  if (connection.state === 'signed_out') return <SignedOut reason="refused" />
  return (
    <div className="frame">
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <TopBar place={place} searchRef={searchRef} />
      <main id="main" className="page" tabIndex={-1}>
        <ErrorBoundary key={place.page}>
          <CurrentPage place={place} />
        </ErrorBoundary>
      </main>
      {help ? <HelpDialog onClose={() => setHelp(false)} /> : null}
      <LiveRegion />
    </div>
  )
}

function CurrentPage({ place }: { place: Place }) {
  const { source } = usePage()
  switch (place.page) {
    case 'runs':
      return <RunsPage query={place.query} />
    case 'run':
      return <RunPage key={place.runId} source={source} runId={place.runId} place={place} />
    case 'inbox':
      return <InboxPage gateId={place.gateId} />
    case 'metrics':
      return <MetricsPage />
    case 'unknown':
      return (
        <EmptyState title="There is nothing at this address.">
          <Link to={{ page: 'runs', query: '' }}>All runs</Link>
        </EmptyState>
      )
  }
}

const TITLES = { runs: 'Runs', run: 'Run', inbox: 'Inbox', metrics: 'Metrics', unknown: 'Not found' }

/** The title counts the open questions, so that a tab in the background tells that somebody waits. */
function useTitle(place: Place): void {
  const open = useOpenQuestions() ?? 0
  useEffect(() => {
    // The page of a run has the title of the run.
    if (place.page === 'run') return
    document.title = `${open > 0 ? `(${open}) ` : ''}${TITLES[place.page]} · Troupe`
  }, [open, place.page])
}

/** Announces questions as they come. */
function useQuestionNews(): void {
  const open = useOpenQuestions()
  const { feed, source } = usePage()
  const before = useRef<number | null>(null)
  useEffect(() => {
    if (open !== null && before.current !== null && open > before.current)
      announce(open === 1 ? 'A question needs you' : `${open} questions need you`)
    before.current = open
  }, [open])
  // The stream tells changes only: the first count comes from the inbox itself.
  useEffect(() => {
    const count = async () => {
      if (feed.openQuestions() === null) feed.setOpenQuestions((await source.inbox()).length)
    }
    void count().catch(() => undefined)
  }, [feed, source])
}
