import { TroupeError } from '../../errors.ts'
import type { EnvironmentVariables } from '../../kernel/world.ts'
import { parseJson } from '../../schema/json-value.ts'
import * as z from '../../schema/zod.ts'
import { invalidCallError, operatorError } from '../tool-errors.ts'
import type { FetchedPage, FetchRequest } from './fetch-page.ts'
import { DEFAULT_FETCH_LIMITS, fetchUrl } from './fetch-page.ts'
import { htmlToText } from './html-to-text.ts'
import type { AddressPolicy } from './ssrf-guard.ts'
import { PUBLIC_ADDRESSES } from './ssrf-guard.ts'
import type { SearchHit, SearchProvider } from './web-search-tool.ts'

export interface SearchServiceOptions {
  key: string
  /** Overrides the address of the service. */
  baseUrl?: string
  addresses?: AddressPolicy
}

const MAX_RESULTS = 20

const braveResponse = z
  .object({
    type: z.literal('search'),
    web: z
      .object({ results: z.array(z.object({ title: z.string(), url: z.string(), description: z.string().nullish() })) })
      .nullish(),
  })
  .transform(({ web }) =>
    (web?.results ?? []).map(({ title, url, description }) => ({
      title: stripHtml(title),
      url,
      snippet: stripHtml(description ?? ''),
    })),
  )

/** The Brave Search API. */
export function braveSearch({
  key,
  baseUrl = 'https://api.search.brave.com',
  addresses,
}: SearchServiceOptions): SearchProvider {
  const service: HttpSearchService = {
    name: 'brave',
    envVariable: 'BRAVE_API_KEY',
    baseUrl: new URL(baseUrl),
    addresses: addresses ?? PUBLIC_ADDRESSES,
    request(query, limit) {
      const params = new URLSearchParams({
        q: query,
        count: String(Math.min(limit, MAX_RESULTS)),
        text_decorations: 'false',
      })
      return { path: `res/v1/web/search?${params}`, headers: { 'x-subscription-token': key } }
    },
    responseSchema: braveResponse,
    isKeyRejected: ({ status, text }) => status === 401 || status === 403 || text.includes('SUBSCRIPTION_TOKEN'),
  }
  return createSearchProvider(service)
}

const contentResponse = z
  .object({
    results: z.array(z.object({ title: z.string().nullish(), url: z.string(), content: z.string().nullish() })),
  })
  .transform(({ results }) =>
    results.map(({ title, url, content }) => ({ title: title ?? url, url, snippet: content ?? '' })),
  )

/** The Tavily API. */
export function tavilySearch({
  key,
  baseUrl = 'https://api.tavily.com',
  addresses,
}: SearchServiceOptions): SearchProvider {
  return createSearchProvider({
    name: 'tavily',
    envVariable: 'TAVILY_API_KEY',
    baseUrl: new URL(baseUrl),
    addresses: addresses ?? PUBLIC_ADDRESSES,
    request: (query, limit) => ({
      path: 'search',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, max_results: Math.min(limit, MAX_RESULTS), search_depth: 'basic' }),
    }),
    responseSchema: contentResponse,
    isKeyRejected: ({ status }) => status === 401 || status === 403,
  })
}

/** A SearXNG instance. Private addresses are allowed (no SSRF): the operator configured the address. */
export function searxngSearch(address: string): SearchProvider {
  const baseUrl = URL.parse(address)
  if (!baseUrl || !/^https?:$/.test(baseUrl.protocol) || baseUrl.username !== '' || baseUrl.password !== '') {
    throw new TroupeError('invalid_input', 'SEARXNG_URL is not a valid http or https URL without credentials', {
      responsible: 'operator',
      hint: 'set it to a URL such as http://localhost:8080, without a user name or a password',
    })
  }
  return createSearchProvider({
    name: 'searxng',
    envVariable: 'SEARXNG_URL',
    baseUrl,
    addresses: { ...PUBLIC_ADDRESSES, isAllowed: () => true },
    request: (query) => ({ path: `search?${new URLSearchParams({ q: query, format: 'json' })}`, headers: {} }),
    responseSchema: contentResponse,
    // SearXNG has no API keys; it answers 403 when the JSON format is not enabled.
    isKeyRejected: () => false,
    forbiddenHint: 'enable the JSON format in settings.yml: search.formats: [html, json]',
  })
}

/** The first configured service: SearXNG, then Brave, then Tavily. */
export function selectSearchProvider(env: EnvironmentVariables): SearchProvider | undefined {
  const { SEARXNG_URL, BRAVE_API_KEY, TAVILY_API_KEY } = env
  if (SEARXNG_URL) return searxngSearch(SEARXNG_URL)
  if (BRAVE_API_KEY) return braveSearch({ key: BRAVE_API_KEY })
  if (TAVILY_API_KEY) return tavilySearch({ key: TAVILY_API_KEY })
  return undefined
}

/** Brave returns titles and snippets as HTML. */
function stripHtml(text: string): string {
  return /[<&]/.test(text) ? htmlToText(text, '').text.replaceAll(/\s+/g, ' ').trim() : text
}

/*
 * A `SearchProvider` over HTTP.
 * 1. Requests go through the SSRF-guarded fetch, only to the host of the service.
 * 2. No error contains the API key.
 */

interface HttpSearchService {
  name: string
  /** The environment variable that configures the service. */
  envVariable: string
  baseUrl: URL
  addresses: AddressPolicy
  /** `path` is relative to `baseUrl`. */
  request(query: string, limit: number): Omit<FetchRequest, 'url'> & { path: string }
  responseSchema: z.ZodType<SearchHit[]>
  isKeyRejected(response: ServiceResponse): boolean
  /** Hint for status 403 when it is not about a key. */
  forbiddenHint?: string
}

interface ServiceResponse extends Pick<FetchedPage, 'status' | 'retry_after'> {
  text: string
}

function createSearchProvider(service: HttpSearchService): SearchProvider {
  const { name, baseUrl, addresses } = service
  const network = { hosts: [baseUrl.hostname], addresses, limits: { ...DEFAULT_FETCH_LIMITS, redirects: 2 } }
  return {
    name,
    host: baseUrl.hostname,
    async search({ query, limit, signal }) {
      const { path, ...request } = service.request(query, limit)
      const url = new URL(path, baseUrl.href.endsWith('/') ? baseUrl : `${baseUrl.href}/`).href
      const headers = { accept: 'application/json', ...request.headers }
      const page = await fetchUrl(network, { ...request, url, headers }, signal).catch((thrown: unknown) => {
        throw signal.aborted ? signal.reason : unreachableError(service, thrown)
      })
      const { status, retry_after } = page
      const text = page.body.toString('utf8')
      if (status !== 200) throw statusError(service, { status, text, ...(retry_after ? { retry_after } : undefined) })
      return parseHits(service, text)
    },
  }
}

function parseHits(service: HttpSearchService, text: string): SearchHit[] {
  const parsed = service.responseSchema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw operatorError(
    `the search service ${service.name} returned an unexpected response`,
    `check that ${service.envVariable} belongs to ${service.baseUrl.origin}; continue without searching`,
  )
}

function statusError(service: HttpSearchService, response: ServiceResponse): TroupeError {
  const { name, envVariable } = service
  const { status, retry_after } = response
  const message = `the search service ${name} returned status ${status}`
  if (service.isKeyRejected(response)) {
    return operatorError(
      `${message}: it rejects the API key`,
      `the operator must check ${envVariable}; continue without searching`,
    )
  }
  if (status === 429) {
    const wait = /^\d{1,5}$/.test(retry_after ?? '') ? `${retry_after} seconds` : 'a while'
    return retryableError(`${message}: rate limit exceeded`, `try again in ${wait}, or continue without searching`)
  }
  if (status === 402 || status === 432 || status === 433) {
    return operatorError(
      `${message}: the quota is used up`,
      `the operator must check the plan of ${envVariable}; continue without searching`,
    )
  }
  if (status === 403) return operatorError(message, service.forbiddenHint ?? `the operator must check ${envVariable}`)
  if (status >= 500) return retryableError(message, 'try the `query` again later, or continue without searching')
  return invalidCallError(message, 'shorten `query`')
}

function unreachableError(service: HttpSearchService, thrown: unknown): TroupeError {
  const reason = thrown instanceof Error ? thrown.message : String(thrown)
  const { code } = thrown instanceof TroupeError ? thrown : { code: undefined }
  const message = `the search service ${service.name} is not reachable: ${reason}`
  if (code === 'denied')
    return new TroupeError('denied', message, { hint: `check ${service.envVariable}`, cause: thrown })
  return retryableError(
    message,
    `the operator must check ${service.envVariable} and that ${service.baseUrl.origin} is reachable; continue without searching`,
  )
}

function retryableError(message: string, hint: string): TroupeError {
  return new TroupeError('tool_failed', message, { hint, responsible: 'operator', retry: true })
}
