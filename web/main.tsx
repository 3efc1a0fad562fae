import { createRoot } from 'react-dom/client'
import type { PageSession } from '../src/surfaces/http/contract.ts'
import { createApiClient } from './data/api-client.ts'
import { createHttpSource } from './data/http-source.ts'
import { createLiveFeed } from './data/live-feed.ts'
import { takeTokenFromAddress } from './data/sign-in.ts'
import { SourceError } from './data/source.ts'
import { App } from './shell/app.tsx'
import { pageContext } from './shell/page-context.ts'
import { SignedOut } from './shell/signed-out.tsx'
import { restoreTheme } from './shell/theme.ts'

restoreTheme()
const place = document.getElementById('root')
if (place !== null) void start(place, takeTokenFromAddress())

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

type Refusal = { reason: 'no_token' | { message: string } }

async function signIn(open: () => Promise<PageSession>): Promise<PageSession | Refusal> {
  try {
    return await open()
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return { reason: error.status === 401 ? 'no_token' : { message: `${error.message} ${error.hint ?? ''}` } }
  }
}
