import type { ErrorBody, PageSession } from '../../src/surfaces/http/contract.ts'
import { pagePath } from '../shell/page-path.ts'
import { SourceError } from './source.ts'

/** Requests to the API of the server that this page is from. Paths begin with `/api`. */
export interface ApiClient {
  get<Result>(path: string, signal?: AbortSignal): Promise<Result>
  post<Result>(path: string, body: unknown): Promise<Result>
  blob(path: string): Promise<Blob>
  /** The response of a stream, as soon as its headers are there. */
  stream(path: string, signal: AbortSignal): Promise<Response>
  /** Exchanges a token for the cookie of the page; without a token, uses the cookie that is there. */
  signIn(token: string | null): Promise<PageSession>
}

/** Storage belongs to one port of the host; the cookie, the other half of the session, is sent to all of them. */
const CSRF_KEY = 'troupe:csrf'

export function createApiClient({ onSignedOut }: { onSignedOut: () => void }): ApiClient {
  let csrf = localStorage.getItem(CSRF_KEY) ?? ''
  const request = async (path: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(pagePath + path, {
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      ...init,
      headers: { 'x-troupe-csrf': csrf, ...init.headers },
    }).catch((error: unknown) => {
      if (init.signal?.aborted) throw error
      throw new SourceError(0, {
        code: 'offline',
        message: 'The server does not answer.',
        hint: 'Is it still running?',
      })
    })
    if (response.ok) return response
    const error = await toError(response)
    if (error.status === 401) onSignedOut()
    throw error
  }
  const write = { 'content-type': 'application/json', 'x-troupe-request': '1' }
  return {
    get: async (path, signal) => (await request(path, { ...(signal ? { signal } : undefined) })).json(),
    post: async (path, body) =>
      (await request(path, { method: 'POST', headers: write, body: JSON.stringify(body) })).json(),
    blob: async (path) => (await request(path, {})).blob(),
    stream: (path, signal) => request(path, { signal, headers: { accept: 'text/event-stream' } }),
    async signIn(token) {
      const response =
        token === null
          ? await request('/api/session', {})
          : await request('/api/session', {
              method: 'POST',
              headers: { ...write, authorization: `Bearer ${token}` },
              body: '{}',
            })
      const session = (await response.json()) as PageSession
      csrf = session.csrf
      localStorage.setItem(CSRF_KEY, csrf)
      return session
    },
  }
}

async function toError(response: Response): Promise<SourceError> {
  const fallback = { code: 'http', message: `The server answered ${response.status}.` }
  try {
    const { error } = (await response.json()) as ErrorBody
    return new SourceError(response.status, { ...fallback, ...error })
  } catch {
    return new SourceError(response.status, fallback)
  }
}
