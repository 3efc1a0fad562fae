import { createRoot } from 'react-dom/client'
import type { PageSession } from '../src/surfaces/http/contract.ts'
import { createApiClient } from './data/api-client.ts'
import { createExportSource, findExport, readExport } from './data/export-source.ts'
import { createHttpSource } from './data/http-source.ts'
import { createLiveFeed } from './data/live-feed.ts'
import { takeTokenFromAddress } from './data/sign-in.ts'
import { SourceError } from './data/source.ts'
import { App } from './shell/app.tsx'
import { pageContext } from './shell/page-context.ts'
import { navigate, setFragmentAddresses } from './shell/router.ts'
import { SignedOut } from './shell/signed-out.tsx'
import { restoreTheme } from './shell/theme.ts'

restoreTheme()
const place = document.getElementById('root')
const exported = findExport()
if (place !== null) void (exported ? showExport(place, exported) : start(place, takeTokenFromAddress()))

async function start(element: HTMLElement, token: string | null): Promise<void> {
  const root = createRoot(element)
  const api = createApiClient({ onSignedOut: () => root.render(<SignedOut reason="no_token" />) })
  const session = await signIn(() => api.signIn(token))
  if ('reason' in session) return root.render(<SignedOut reason={session.reason} />)
  const source = createHttpSource(api)
  const feed = createLiveFeed(source)
  const { Provider } = pageContext
  root.render(
    <Provider value={{ source, feed, session }}>
      <App />
    </Provider>,
  )
}

/** A one-file export has no server, no token and nothing to decide. */
async function showExport(element: HTMLElement, data: string): Promise<void> {
  const source = createExportSource(await readExport(data))
  setFragmentAddresses()
  if (window.location.hash.length <= 1) navigate(source.home, { replace: true })
  const { Provider } = pageContext
  createRoot(element).render(
    <Provider value={{ source, feed: createLiveFeed(source), session: await source.session() }}>
      <App />
    </Provider>,
  )
}

type Refusal = { reason: 'no_token' | { message: string } }

async function signIn(open: () => Promise<PageSession>): Promise<PageSession | Refusal> {
  try {
    return await open()
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return { reason: error.status === 401 ? 'no_token' : { message: `${error.message} ${error.hint ?? ''}` } }
  }
}
